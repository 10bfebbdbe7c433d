// The only file that sees cudnn-frontend (19 s to compile); its symbols stay hidden because LibTorch exports clashing
// ones of another version, and every library call goes through dlsym on the handle of library.cpp.
#include "attention/cudnn/graph.h"

#include <cudnn_frontend.h>

#include <mutex>
#include <unordered_map>

#include "attention/cudnn/status.h"
#include "base/strings.h"

namespace cudnn_frontend {
// cudnn-frontend takes the library that we loaded from here; set once, before the first call.
void* cudnn_dlhandle = nullptr;
}  // namespace cudnn_frontend

namespace tessera::attention::cudnn {

namespace {

namespace fe = cudnn_frontend;
using TensorPtr = std::shared_ptr<fe::graph::Tensor_attributes>;

enum Uid : int64_t { kQ = 1, kK, kV, kO, kStats, kBias, kQLengths, kKLengths };

FrontendCode frontend_code(fe::error_code_t code) {
  using Code = fe::error_code_t;
  switch (code) {
    case Code::GRAPH_NOT_SUPPORTED:
    case Code::GRAPH_EXECUTION_PLAN_CREATION_FAILED:
    case Code::HEURISTIC_QUERY_FAILED:
    case Code::UNSUPPORTED_GRAPH_FORMAT:
      return FrontendCode::NotSupported;
    case Code::GRAPH_EXECUTION_FAILED:
    case Code::CUDA_API_FAILED:
    case Code::CUDNN_BACKEND_API_FAILED:
    case Code::INVALID_CUDA_DEVICE:
    case Code::HANDLE_ERROR:
    case Code::NVRTC_COMPILATION_FAILED:
      return FrontendCode::Failed;
    default:
      return FrontendCode::Invalid;
  }
}

Error convert(const fe::error_t& error, const Spec& spec) {
  return {error_code(frontend_code(error.code), error.err_msg),
          strings::join("cuDNN: ", error.err_msg, " (", describe(spec), ")"),
          "choose another attention backend for this problem"};
}

fe::DataType_t data_type(DType dtype) {
  if (dtype == DType::F16) return fe::DataType_t::HALF;
  if (dtype == DType::BF16) return fe::DataType_t::BFLOAT16;
  return fe::DataType_t::FLOAT;
}

std::vector<int64_t> list(const Strides& values) {
  return {values.begin(), values.end()};
}

fe::graph::Tensor_attributes tensor(const char* name, Uid uid, const Strides& sizes, const Strides& strides) {
  return fe::graph::Tensor_attributes().set_name(name).set_uid(uid).set_dim(list(sizes)).set_stride(list(strides));
}

TensorPtr lengths(fe::graph::Graph& graph, const char* name, Uid uid, int64_t batch) {
  return graph.tensor(tensor(name, uid, {batch, 1, 1, 1}, {1, 1, 1, 1}).set_data_type(fe::DataType_t::INT32));
}

fe::graph::SDPA_attributes attributes(fe::graph::Graph& graph, const Spec& s) {
  auto options = fe::graph::SDPA_attributes().set_name("attention");
  options.set_generate_stats(s.stats).set_attn_scale(static_cast<float>(s.scale));
  if (s.causal != Causal::None) {
    options.set_diagonal_alignment(s.causal == Causal::TopLeft ? fe::DiagonalAlignment_t::TOP_LEFT
                                                               : fe::DiagonalAlignment_t::BOTTOM_RIGHT);
    options.set_diagonal_band_right_bound(0);
  }
  if (s.mask == MaskKind::KeyLengths) {
    options.set_padding_mask(true);
    options.set_seq_len_q(lengths(graph, "q_lengths", kQLengths, s.batch));
    options.set_seq_len_kv(lengths(graph, "k_lengths", kKLengths, s.batch));
  }
  if (s.mask == MaskKind::Additive) {
    options.set_bias(graph.tensor(tensor("bias", kBias, {s.bias_shape[0], s.bias_shape[1], s.seq_q, s.seq_kv}, s.bias)
                                      .set_data_type(data_type(s.bias_dtype))));
  }
  return options;
}

void add_attention(fe::graph::Graph& graph, const Spec& s) {
  graph.set_io_data_type(data_type(s.dtype));
  graph.set_intermediate_data_type(fe::DataType_t::FLOAT).set_compute_data_type(fe::DataType_t::FLOAT);
  auto q = graph.tensor(tensor("q", kQ, {s.batch, s.heads_q, s.seq_q, s.head_dim}, s.q));
  auto k = graph.tensor(tensor("k", kK, {s.batch, s.heads_kv, s.seq_kv, s.head_dim}, s.k));
  auto v = graph.tensor(tensor("v", kV, {s.batch, s.heads_kv, s.seq_kv, s.value_dim}, s.v));
  auto [o, stats] = graph.sdpa(q, k, v, attributes(graph, s));
  o->set_output(true).set_uid(kO).set_dim({s.batch, s.heads_q, s.seq_q, s.value_dim}).set_stride(list(s.o));
  if (!s.stats) return;
  stats->set_output(true).set_uid(kStats).set_data_type(fe::DataType_t::FLOAT);
  stats->set_dim({s.batch, s.heads_q, s.seq_q, 1}).set_stride({s.heads_q * s.seq_q, s.seq_q, 1, 1});
}

Result<Library> library_for_frontend() {
  TESSERA_TRY(const Library library, load_library());
  static std::once_flag once;
  std::call_once(once, [&] { fe::cudnn_dlhandle = library.handle; });
  return library;
}

/// cudnn-frontend throws std::runtime_error where a library or symbol is missing.
template <typename F>
Status guarded(const Spec& spec, F&& step) {
  try {
    const fe::error_t error = step();
    if (error.is_good()) return {};
    return fail(convert(error, spec));
  } catch (const std::exception& e) {
    return fail(ErrorCode::Unavailable, strings::join("cuDNN: ", e.what(), " (", describe(spec), ")"),
                "the cuDNN installation is incomplete");
  }
}

}  // namespace

struct Graph::State {
  Spec spec;
  fe::graph::Graph graph;
  std::vector<int64_t> engines;
  int64_t plan = -1;
  // cuDNN does not promise that one plan may be executed by two threads at once; a launch takes microseconds.
  std::mutex launch;

  Status order_engines();
  template <typename F>
  Status step(F&& f) {
    return guarded(spec, std::forward<F>(f));
  }
};

Status Graph::State::order_engines() {
  TESSERA_TRY_OK(step([&] { return graph.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}); }));
  TESSERA_TRY_OK(step([&] { return graph.check_support(); }));
  return step([&]() -> fe::error_t {
    for (int64_t i = 0; i < graph.get_execution_plan_count(); ++i) {
      int64_t id = 0;
      std::unordered_map<fe::KnobType_t, int64_t> knobs;
      if (auto error = graph.get_engine_and_knobs_at_index(i, id, knobs); error.is_bad()) return error;
      engines.push_back(engine_class(id));
    }
    return {};
  });
}

Graph::Graph(std::unique_ptr<State> state) : state_(std::move(state)) {}
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;

Result<Graph> Graph::for_description(const Spec& spec, const DeviceDescription& device) {
  TESSERA_TRY(const Library library, library_for_frontend());
  if (library.version < 90800) {
    return fail(ErrorCode::Unavailable,
                strings::join("cuDNN ", version_text(library.version), " cannot be asked about other devices"),
                "install cuDNN 9.8 or newer");
  }
  if (auto text = refusal(spec, library.version)) return fail(ErrorCode::Unsupported, *text);
  auto properties = std::make_shared<fe::DeviceProperties>();
  auto state = std::make_unique<State>();
  state->spec = spec;
  TESSERA_TRY_OK(state->step(
      [&] { return properties->deserialize(std::vector<uint8_t>(device.json.begin(), device.json.end())); }));
  state->graph.set_device_properties(properties).set_sm_version(device.sm);
  add_attention(state->graph, spec);
  TESSERA_TRY_OK(state->step([&] { return state->graph.validate(); }));
  TESSERA_TRY_OK(state->step([&] { return state->graph.build_operation_graph(); }));
  TESSERA_TRY_OK(state->order_engines());
  return Graph(std::move(state));
}

Result<Graph> Graph::for_handle(const Spec& spec, const Handle& handle) {
  TESSERA_TRY(const Library library, library_for_frontend());
  if (auto text = refusal(spec, library.version)) return fail(ErrorCode::Unsupported, *text);
  auto state = std::make_unique<State>();
  state->spec = spec;
  add_attention(state->graph, spec);
  TESSERA_TRY_OK(state->step([&] { return state->graph.validate(); }));
  TESSERA_TRY_OK(
      state->step([&] { return state->graph.build_operation_graph(static_cast<cudnnHandle_t>(handle.get())); }));
  TESSERA_TRY_OK(state->order_engines());
  return Graph(std::move(state));
}

const std::vector<int64_t>& Graph::engines() const {
  return state_->engines;
}

std::vector<std::string> Graph::plan_names() const {
  std::vector<std::string> names(state_->engines.size());
  for (size_t i = 0; i < names.size(); ++i) {
    // A plan without a name keeps an empty one: names are for people, engines() is for decisions.
    [[maybe_unused]] const auto error = state_->graph.get_plan_name_at_index(static_cast<int64_t>(i), names[i]);
  }
  return names;
}

Status Graph::build(int64_t first_plan) {
  Status last = fail(ErrorCode::Unsupported, strings::join("cuDNN: no plan for ", describe(state_->spec)));
  for (auto i = first_plan; i < static_cast<int64_t>(state_->engines.size()); ++i) {
    last = state_->step([&] { return state_->graph.build_plan_at_index(i); });
    if (last) state_->plan = i;
    // Only a plan that does not fit is skipped; a failing device or full memory is told at once.
    if (last || last.error().code != ErrorCode::Unsupported) return last;
  }
  return last;
}

int64_t Graph::plan() const {
  return state_->plan;
}

Result<int64_t> Graph::workspace_bytes() const {
  int64_t bytes = 0;
  TESSERA_TRY_OK(state_->step([&] { return state_->graph.get_workspace_size_plan_at_index(state_->plan, bytes); }));
  return bytes;
}

Status Graph::execute(const Handle& handle, const Pointers& p, void* workspace) const {
  std::unordered_map<int64_t, void*> pack{{kQ, p.q}, {kK, p.k}, {kV, p.v}, {kO, p.o}};
  if (state_->spec.stats) pack[kStats] = p.stats;
  if (state_->spec.mask == MaskKind::Additive) pack[kBias] = p.bias;
  if (state_->spec.mask == MaskKind::KeyLengths) pack[kQLengths] = p.q_lengths, pack[kKLengths] = p.k_lengths;
  for (const auto& [uid, pointer] : pack) {
    if (pointer == nullptr) return fail(ErrorCode::Bug, strings::join("cuDNN: tensor ", uid, " has no memory"));
  }
  const std::lock_guard one_at_a_time(state_->launch);
  return state_->step([&] {
    return state_->graph.execute_plan_at_index(static_cast<cudnnHandle_t>(handle.get()), pack, workspace, state_->plan);
  });
}

Result<Handle> Handle::create(const Library&) {
  TESSERA_TRY(const Library library, library_for_frontend());
  cudnnHandle_t handle = nullptr;
  const cudnnStatus_t status = fe::detail::create_handle(&handle);
  if (status != CUDNN_STATUS_SUCCESS) {
    return fail(ErrorCode::DeviceFault, strings::join("cuDNN ", version_text(library.version),
                                                      " cannot use the device: status ", static_cast<int>(status)));
  }
  return Handle(std::shared_ptr<void>(handle, [](void* h) {
    [[maybe_unused]] const auto ignored = fe::detail::destroy_handle(static_cast<cudnnHandle_t>(h));
  }));
}

Status Handle::set_stream(void* stream) const {
  // cudnn-frontend has no wrapper for this one.
  const auto call = reinterpret_cast<decltype(&cudnnSetStream)>(fe::detail::get_symbol("cudnnSetStream"));
  if (call == nullptr) return fail(ErrorCode::Unavailable, "the cuDNN library has no cudnnSetStream");
  const auto status = call(static_cast<cudnnHandle_t>(get()), static_cast<cudaStream_t>(stream));
  if (status == CUDNN_STATUS_SUCCESS) return {};
  return fail(ErrorCode::DeviceFault, strings::join("cudnnSetStream: status ", static_cast<int>(status)));
}

int64_t engine_class(int64_t engine_id) {
  return engine_id >= 1 && engine_id <= 4 ? engine_id + 7 : engine_id;
}

}  // namespace tessera::attention::cudnn
