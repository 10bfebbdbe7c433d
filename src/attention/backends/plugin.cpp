#include "attention/backends/plugin.h"

#include <array>

#include "attention/backends/cuda_call.h"
#include "attention/policy/decision_json.h"
#include "attention/segments.h"
#include "attention/signature.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strings.h"

namespace tessera::attention {
namespace {

/// A tensor with its description; shape and strides point into the tensor, which must outlive it.
tessera_tensor_v1 describe(const at::Tensor& t) {
  tessera_tensor_v1 d{};
  d.data = t.data_ptr();
  d.device_type = t.is_cuda() ? 2 : 1;
  d.device_id = t.is_cuda() ? t.device().index() : 0;
  d.ndim = static_cast<int32_t>(t.dim());
  // DLPack's codes: 0 signed, 1 unsigned, 2 float, 4 bfloat16, 6 bool.
  if (t.scalar_type() == at::kBool) {
    d.dtype_code = 6;
  } else {
    d.dtype_code = t.scalar_type() == at::kBFloat16 ? 4 : 2;
  }
  d.dtype_bits = static_cast<uint8_t>(8 * t.element_size());
  d.dtype_lanes = 1;
  d.shape = const_cast<int64_t*>(t.sizes().data());
  d.strides = const_cast<int64_t*>(t.strides().data());
  return d;
}

std::string question(const AttentionInputs& in, bool needs_lse) {
  OrderedJson json = problem_to_json(problem_of(in, Role::Self, needs_lse, facts_of(in, /*for_gpu=*/true).aligned));
  json["device"] = in.query.is_cuda() ? "cuda" : "cpu";
  return json.dump();
}

ErrorCode code_of(tessera_plugin_status status) {
  switch (status) {
    case TESSERA_PLUGIN_UNSUPPORTED:
      return ErrorCode::Unsupported;
    case TESSERA_PLUGIN_OUT_OF_MEMORY:
      return ErrorCode::OutOfMemory;
    case TESSERA_PLUGIN_OK:
    case TESSERA_PLUGIN_DEVICE_FAULT:
    case TESSERA_PLUGIN_FAILED:
      return ErrorCode::DeviceFault;
  }
  return ErrorCode::DeviceFault;
}

/// The descriptions of one call; they must stay in place while the plugin runs.
struct Call {
  tessera_tensor_v1 query, key, value, out, lse{}, mask{};
  tessera_attention_call_v1 call{};

  Call(const AttentionInputs& in, const AttentionOutputs& outputs)
      : query(describe(in.query)), key(describe(in.key)), value(describe(in.value)), out(describe(outputs.out)) {
    call.query = &query, call.key = &key, call.value = &value, call.out = &out;
    if (outputs.lse.defined()) lse = describe(outputs.lse), call.lse = &lse;
    if (const auto* m = std::get_if<BoolMask>(&in.mask)) mask = describe(m->allowed), call.bool_mask = &mask;
    if (const auto* m = std::get_if<AdditiveMask>(&in.mask)) mask = describe(m->bias), call.additive_mask = &mask;
    if (const auto* m = std::get_if<KeyLengths>(&in.mask)) call.key_lengths = m->values.data();
    if (in.causal != Causal::None) call.causal = in.causal == Causal::TopLeft ? 1 : 2;
    call.scale = in.scale;
    if (in.query.is_cuda()) call.stream = current_stream(in.query);
  }
  Call(const Call&) = delete;
};

Status run_one(const plugin::Plugin& p, const AttentionInputs& in, const AttentionOutputs& outputs) {
  const Call call(in, outputs);
  std::array<char, 512> text{};
  tessera_plugin_status status = TESSERA_PLUGIN_OK;
  try {
    status = p.table->run(&call.call, text.data(), text.size());
  } catch (const std::exception& e) {
    return fail(ErrorCode::DeviceFault, strings::join("attention plugin ", p.name, " threw: ", e.what()),
                "choose another --attention-backend");
  }
  if (status == TESSERA_PLUGIN_OK) return {};
  text.back() = '\0';
  const std::string_view why = text[0] == '\0' ? "no reason given" : text.data();
  return fail(code_of(status), strings::join("attention plugin ", p.name, ": ", why),
              "choose another --attention-backend");
}

}  // namespace

Status PluginBackend::run(const AttentionInputs& inputs, const AttentionOutputs& outputs, Quality tier) {
  if (inputs.packed) {  // the plugins' call has no packed form
    return run_by_segments(*this, inputs, outputs, tier);
  }
  const std::string problem = question(inputs, outputs.lse.defined());
  std::vector<std::string> refusals;
  for (const plugin::Plugin& p : plugins_) {
    const char* refusal = p.table->accepts(problem.c_str());
    if (refusal == nullptr) return run_one(p, inputs, outputs);
    refusals.push_back(strings::join(p.name, ": ", refusal));
  }
  return fail(ErrorCode::Unsupported, strings::join("no plugin takes it (", strings::list(refusals, "; "), ")"),
              "another backend serves this problem: --attention-backend auto");
}

BackendId plugin_row(const plugin::Plugin& plugin) {
  return backend_of(plugin.name).value_or(BackendId::Plugin);
}

const std::vector<plugin::Plugin>& loaded_plugins() {
  static const std::vector<plugin::Plugin> plugins = [] {
    std::vector<plugin::Plugin> good;
    for (auto& loaded : plugin::load_from_environment()) {
      if (loaded) {
        good.push_back(std::move(*loaded));
      } else {
        log::warning(loaded.error().line());
      }
    }
    return good;
  }();
  return plugins;
}

std::vector<plugin::Plugin> plugins_for(BackendId id) {
  std::vector<plugin::Plugin> found;
  for (const plugin::Plugin& p : loaded_plugins()) {
    if (plugin_row(p) == id) found.push_back(p);
  }
  return found;
}

}  // namespace tessera::attention
