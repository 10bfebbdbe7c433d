// Rows of dynamic.json: calls of one layer whose backend is dynamic_cudnn_sdpa, some of which cuDNN fails.
#include <algorithm>
#include <vector>

#include "apps/golden_check/selector_departures.h"
#include "apps/golden_check/selector_names.h"
#include "attention/policy/rules.h"
#include "base/strings.h"
#include "platform/presets.h"

namespace tessera::golden {
namespace {

using attention::BackendId;

struct Step {
  attention::AttentionProblem problem;
  bool on_cuda = true;
  std::string raises;  ///< what the cuDNN call raises when it is reached
};

struct Got {
  std::vector<std::string> called;
  std::string error;
  bool warning = false;
};

Step step_of(const Json& json, bool causal) {
  const Json &q = json.at("q"), &k = json.at("k");
  Step out;
  attention::AttentionProblem& p = out.problem;
  p.batch = q.at(0);
  p.seq_q = q.at(1);
  p.seq_kv = k.at(1);
  p.heads_q = q.at(2);
  p.heads_kv = k.at(2);
  p.head_dim = p.value_dim = q.at(3);
  p.dtype = parse_dtype(json.at("dtype").get<std::string>()).value();
  p.causal = causal ? attention::Causal::BottomRight : attention::Causal::None;
  p.needs_lse = json.at("return_softmax_lse") == true;
  out.on_cuda = json.at("device") == "cuda";
  if (json.at("cudnn_raises").is_string()) out.raises = json.at("cudnn_raises").get<std::string>();
  return out;
}

/// The kinds of failure: Unsupported lets the next candidate serve, everything else is the caller's to see.
bool steps_aside(const std::string& raised, const World& world) {
  // RuntimeError without more is "no kernel for this"; NotImplementedError says so by its type.
  if (raised == "RuntimeError" || raised == "NotImplementedError") return true;
  // The reference catches every subclass of RuntimeError: out of memory and endless recursion too.
  const bool runtime_error = raised == "OutOfMemoryError" || raised == "RecursionError";
  return runtime_error && !world.has(Departure::UnsupportedOnly);
}

class Layer {
 public:
  Layer(const Json& capability, const World& world) : world_(world), device_(cuda_device(capability)) {
    asked_.server = attention::choose_dynamic();
  }

  Got call(const Step& step) {
    Got got;
    for (const BackendId id : order(step)) {
      if (id != BackendId::TorchCudnnSdpa) {
        got.called.emplace_back(step.problem.needs_lse ? "fa_lse" : "fa");
        return got;
      }
      got.called.emplace_back("cudnn");
      if (step.raises.empty()) return got;
      if (!steps_aside(step.raises, world_)) {
        got.error = step.raises;
        return got;
      }
      failed_.push_back(step.problem);
      got.warning = !warned_;
      warned_ = true;
    }
    got.error = "refused";
    return got;
  }

 private:
  bool latched(const attention::AttentionProblem& p) const {
    if (!world_.has(Departure::LatchPerProblem)) return !failed_.empty();
    return std::ranges::find(failed_, p) != failed_.end();
  }

  std::vector<BackendId> order(const Step& step) const {
    std::vector<attention::PastFailure> past;
    if (latched(step.problem)) past.push_back({BackendId::TorchCudnnSdpa, attention::Reason::FailedBefore, ""});
    const auto device = step.on_cuda ? device_ : platform::preset("cpu_avx2").value();
    const auto d = attention::resolve(step.problem, asked_, device, past);
    std::vector<BackendId> out;
    for (const auto& c : d.candidates) out.push_back(c.backend);
    if (world_.has(Departure::CheckedFirst)) return out;
    return unchecked_order(step, device, !past.empty());
  }

  /// The reference's two sub-backends by the rules alone: neither is asked whether it can run.
  static std::vector<BackendId> unchecked_order(const Step& step, const platform::DeviceProfile& device, bool latched) {
    const bool cudnn = device.is_cuda() && !latched &&
                       attention::dynamic_rule(step.problem, device).prefer == attention::Preference::Cudnn;
    if (cudnn) return {BackendId::TorchCudnnSdpa, BackendId::Fa4};
    return {BackendId::Fa4};
  }

  const World& world_;
  platform::DeviceProfile device_;
  attention::Selection asked_;
  std::vector<attention::AttentionProblem> failed_;
  bool warned_ = false;
};

std::optional<Mismatch> compare(const Got& got, const Json& want, std::size_t index) {
  const auto differ = [&](const char* what, const Json& a, const Json& b) -> std::optional<Mismatch> {
    if (a == b) return std::nullopt;
    return Mismatch{strings::join("steps[", index, "].", what), a.dump(), b.dump()};
  };
  if (auto m = differ("called", got.called, want.at("called"))) return m;
  if (auto m = differ("error", got.error.empty() ? Json() : Json(got.error), want.at("error"))) return m;
  return differ("warning", got.warning, want.at("warning"));
}

}  // namespace

RowCheck dynamic_check() {
  return [](const Json& row, const World& world) -> std::optional<Mismatch> {
    const Json &input = row.at("input"), &wanted = row.at("expected").at("steps");
    Layer layer(input.at("capability"), world);
    std::size_t i = 0;
    for (const Json& step : input.at("steps")) {
      const Got got = layer.call(step_of(step, input.at("causal").get<bool>()));
      if (auto m = compare(got, wanted.at(i), i)) return m;
      ++i;
    }
    return std::nullopt;
  };
}

}  // namespace tessera::golden
