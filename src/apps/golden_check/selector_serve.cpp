#include "apps/golden_check/selector_serve.h"

#include <algorithm>

#include "apps/golden_check/selector_names.h"
#include "attention/policy/asked.h"
#include "attention/policy/catalog.h"
#include "attention/policy/model_set.h"

namespace tessera::golden {
namespace {

using attention::Attempt;
using attention::BackendId;
using attention::Choice;
using attention::Decision;
using attention::Origin;
using attention::Reason;

/// The reference's answer to fp8_fa_sm120 on other devices: FlashAttention, whatever the head size and the device's
/// generation; torch SDPA below 8.0 and for other dtypes.
Served flash_for_fp8(const Layer& layer) {
  const bool half = layer.problem.dtype == DType::F16 || layer.problem.dtype == DType::BF16;
  if (layer.device.sm < platform::Capability{8, 0} || !half) {
    return {Attempt{BackendId::TorchSdpa, attention::choose(BackendId::TorchSdpa), std::nullopt}, "", true};
  }
  if (!layer.device.has("flash3")) return {std::nullopt, "backend_module_not_importable", true};
  const bool newest = layer.device.is_blackwell();
  return {Attempt{newest ? BackendId::Fa4 : BackendId::Fa3, attention::choose_fa(), std::nullopt}, "", true};
}

/// The reference looks for 12.x only where FlashAttention was asked for by name, not where it stands in for Sage.
bool flash_on_sm12x(const Attempt& a, const Layer& layer) {
  if (!layer.device.is_sm12x() || a.backend != BackendId::Fa4) return false;
  platform::DeviceProfile twin = layer.device;
  twin.sm = {9, 0};
  return attention::accepts(BackendId::Fa3, layer.problem, twin).accepted();
}

/// A requirement that no candidate met goes before other refusals. Then the choice's own refusal; for an automatic
/// choice the first that is about a backend and not about the model's set or the layer's role.
std::string code_of(const Decision& d, std::size_t tried) {
  const auto begin = d.attempts.begin(), end = begin + static_cast<std::ptrdiff_t>(tried);
  auto it = std::find_if(begin, end, [](const Attempt& a) { return a.refused == Reason::Varlen; });
  if (it == end && begin->refused != Reason::NotInModelSet) it = begin;
  if (it == end) {
    it = std::find_if(begin, end, [](const Attempt& a) {
      return a.refused != Reason::NotInModelSet && a.refused != Reason::CrossAttention;
    });
  }
  return error_code(it == end ? *begin : *it);
}

bool warns(const Attempt& a) {
  return attention::deserves_warning({a.backend, a.refused.value(), ""});
}

class Search {
 public:
  Search(const Decision& d, const Layer& layer, const World& world)
      : d_(d), layer_(layer), world_(world), own_(d.attempts.front().via) {}

  Served run() {
    for (std::size_t i = 0; i < d_.attempts.size(); ++i) {
      const Attempt& a = d_.attempts[i];
      if (d_.strict && a.via != own_ && !goes_on()) return failed(i);
      if (fp8_left_ && a.via == attention::choose(BackendId::TorchCudnnSdpa)) continue;
      if (lacks_packed(a)) {
        if (d_.strict) return {std::nullopt, "packed_varlen_missing", out_.warning};
        continue;
      }
      if (!a.refused || taken_unchecked(a, i)) return took(a);
      out_.warning = out_.warning || warns(a);
      if (!world_.has(Departure::Fp8ToCudnn) && falls_to_flash(a)) {
        const Served flash = flash_for_fp8(layer_);
        if (!flash.taken || allowed(*flash.taken)) return flash;
        fp8_left_ = true;
      }
      if (!world_.has(Departure::MissingPackage) && ends_search(a, layer_.device)) return raised(a);
    }
    return failed(d_.attempts.size());
  }

 private:
  /// A strict choice that something can stand in for: the reference takes that; we do so only until the component is
  /// left, where the refusal is reported for all its layers at once.
  bool goes_on() const {
    const bool stands_in = attention::substitute_for(own_, d_.attempts.front().refused.value()).has_value();
    return stands_in && (!world_.has(Departure::StrictChoice) || d_.origin == Origin::Component);
  }

  /// Explicit choices and what stands in for them are not limited by the model's set.
  bool allowed(const Attempt& a) const {
    const bool by_user = attention::asked_by(layer_.selection, layer_.problem, layer_.device).by_user;
    return by_user || attention::model_allows(layer_.selection.model_supports, a.via, a.backend);
  }

  bool taken_unchecked(const Attempt& a, std::size_t index) const {
    if (world_.has(Departure::CheckedFirst)) return false;
    if (unchecked_by_reference(a)) return true;
    const auto before = d_.attempts.begin() + static_cast<std::ptrdiff_t>(index);
    const bool for_sage =
        std::any_of(d_.attempts.begin(), before, [](const Attempt& b) { return b.backend == BackendId::SageAttn; });
    return for_sage && a.via == attention::choose_fa() && flash_on_sm12x(a, layer_) && allowed(a);
  }

  /// FlashAttention 2 has no packed form in the reference.
  bool lacks_packed(const Attempt& a) const {
    return !world_.has(Departure::Fa2ServesFa) && a.backend == BackendId::Fa2 && !a.refused &&
           layer_.problem.is_varlen();
  }

  static bool falls_to_flash(const Attempt& a) {
    return a.backend == BackendId::Fp8FaSm120 &&
           (a.refused == Reason::CapabilityUnserved || a.refused == Reason::NotInstalled);
  }

  Served took(const Attempt& a) {
    const bool role_fell_back = d_.origin == Origin::ComponentRole && !d_.strict && a.via != own_;
    return {a, "", out_.warning || role_fell_back};
  }

  Served raised(Attempt a) const {
    if (a.backend == BackendId::Fa2) a.refused = Reason::NotInstalled;
    return {std::nullopt, error_code(a), out_.warning};
  }
  Served failed(std::size_t tried) const { return {std::nullopt, code_of(d_, tried), out_.warning}; }

  const Decision& d_;
  const Layer& layer_;
  const World& world_;
  Choice own_;
  bool fp8_left_ = false;
  Served out_;
};

}  // namespace

Served serve(const Decision& decision, const Layer& layer, const World& world) {
  Served out = Search(decision, layer, world).run();
  // In our own world the walk above only finds error codes; what runs and what is warned of is the decision's.
  if (world.departures != World{}.departures) return out;
  out.warning = !decision.warnings.empty();
  if (decision.ok()) out.taken = Attempt{decision.first(), decision.candidates.front().via, std::nullopt};
  return out;
}

}  // namespace tessera::golden
