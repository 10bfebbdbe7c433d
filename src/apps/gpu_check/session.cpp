#include "apps/gpu_check/session.h"

#include <iostream>
#include <limits>

#include "attention/backends/cudnn_sdpa.h"
#include "attention/backends/factory.h"
#include "attention/guard.h"
#include "attention/policy/catalog.h"
#include "attention/signature.h"
#include "base/strings.h"

namespace tessera::gpu_check {
namespace {

using attention::BackendId;

Outcome outcome_of(const Status& status) {
  if (status) return Outcome::Passed;
  return status.error().code == ErrorCode::Unsupported ? Outcome::Refused : Outcome::Failed;
}

}  // namespace

std::string_view outcome_name(Outcome outcome) {
  constexpr std::string_view kNames[] = {"passed", "failed", "refused", "skipped"};
  return kNames[static_cast<size_t>(outcome)];
}

void Session::add(std::string_view check, std::string_view backend, std::string_view subject, Outcome outcome,
                  const std::string& text, const OrderedJson& numbers) {
  OrderedJson row = {
      {"check", check}, {"backend", backend}, {"subject", subject}, {"outcome", outcome_name(outcome)}, {"text", text}};
  for (const auto& [key, value] : numbers.items()) row[key] = value;
  rows.push_back(std::move(row));
  ++counts[static_cast<size_t>(outcome)];
  if (outcome == Outcome::Failed) {
    std::cout << "FAILED " << check << ", " << backend << ", " << subject << ": " << text << std::endl;
  }
}

void Session::check(std::string_view check, std::string_view backend, std::string_view subject,
                    const std::function<Status(OrderedJson&)>& body) {
  if (out_of_time()) return add(check, backend, subject, Outcome::Skipped, "the time given is used up");
  OrderedJson numbers = OrderedJson::object();
  const Status done = attention::guarded(backend, [&]() -> Status {
    TESSERA_TRY_OK(body(numbers));
    tools->synchronize();
    return {};
  });
  add(check, backend, subject, outcome_of(done), done ? "" : done.error().line(), numbers);
}

attention::Verdict Session::verdict(const Contender& contender, const attention::AttentionInputs& inputs,
                                    bool needs_lse) const {
  const bool aligned = attention::facts_of(inputs, profile.is_cuda()).aligned;
  const auto problem = attention::problem_of(inputs, attention::Role::Self, needs_lse, aligned);
  return attention::accepts(contender.id, problem, profile);
}

std::vector<Contender> contenders(const Session& session) {
  std::vector<Contender> all;
  for (const BackendId id : attention::built_backends()) {
    const bool on_cpus = id == BackendId::CpuFlash || id == BackendId::CpuSage;
    if (id == BackendId::Reference || id == BackendId::CpuSage || (on_cpus && !session.dry())) continue;
    all.push_back({std::string(attention::backend_name(id)), id, attention::make_backend(id)});
    if (id != BackendId::TorchCudnnSdpa) continue;
    all.push_back({"torch_cudnn_sdpa by LibTorch", id, std::make_unique<attention::CudnnSdpaBackend>(nullptr)});
  }
  return all;
}

Status expect(bool holds, const std::string& text) {
  return holds ? Status() : fail(ErrorCode::NumericalFault, text);
}

at::Tensor moved(const at::Tensor& tensor, at::Device device) {
  const auto bytes = static_cast<int64_t>(tensor.storage().nbytes());
  const at::Tensor whole = tensor.as_strided({bytes / static_cast<int64_t>(tensor.element_size())}, {1}, 0);
  return whole.to(device).as_strided(tensor.sizes(), tensor.strides(), tensor.storage_offset());
}

attention::AttentionInputs moved(const attention::AttentionInputs& in, at::Device device) {
  attention::AttentionInputs out = in;
  out.query = moved(in.query, device), out.key = moved(in.key, device), out.value = moved(in.value, device);
  if (const auto* mask = std::get_if<attention::BoolMask>(&in.mask)) {
    out.mask = attention::BoolMask{moved(mask->allowed, device)};
  }
  if (const auto* mask = std::get_if<attention::AdditiveMask>(&in.mask)) {
    out.mask = attention::AdditiveMask{moved(mask->bias, device)};
  }
  return out;
}

attention::AttentionInputs random_inputs(const Session& session, const Shape& s, at::ScalarType dtype) {
  const auto options = at::TensorOptions().dtype(dtype).device(session.tools->device());
  attention::AttentionInputs in;
  in.query = at::randn({s.batch, s.seq_q, s.heads_q, s.head_dim}, options);
  in.key = at::randn({s.batch, s.seq_kv, s.heads_kv, s.head_dim}, options);
  in.value = at::randn({s.batch, s.seq_kv, s.heads_kv, s.head_dim}, options);
  in.scale = 1 / std::sqrt(static_cast<double>(s.head_dim));
  return in;
}

double relative_error(const at::Tensor& got, const at::Tensor& want) {
  const at::Tensor g = got.to(at::kCPU, at::kDouble), w = want.to(at::kCPU, at::kDouble);
  const double error = (g - w).pow(2).sum().item<double>() / std::max(w.pow(2).sum().item<double>(), 1e-300);
  return std::isfinite(error) ? std::sqrt(error) : std::numeric_limits<double>::infinity();
}

double error_limit(at::ScalarType dtype) {
  // Rounding of the weights and of the result, each half a unit of 2^-8 (bf16) or 2^-11 (fp16), with room for four.
  if (dtype == at::kBFloat16) return 8e-3;
  return dtype == at::kHalf ? 1e-3 : 1e-5;
}

}  // namespace tessera::gpu_check
