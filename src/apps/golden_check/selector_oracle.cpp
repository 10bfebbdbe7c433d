// Rows of oracle.json: layers of a component are built one after another, then the component is left.
#include <algorithm>
#include <vector>

#include "apps/golden_check/selector_departures.h"
#include "apps/golden_check/selector_names.h"
#include "apps/golden_check/selector_serve.h"
#include "attention/policy/component_map.h"
#include "attention/policy/layer_rules.h"
#include "attention/policy/overrides.h"
#include "attention/policy/rules.h"
#include "base/strings.h"

namespace tessera::golden {
namespace {

using attention::BackendId;
using attention::Choice;
using attention::ComponentOverride;
using attention::LayerRecord;
using attention::Role;
using attention::Selection;

struct Outcome {
  std::vector<std::string> backends;  ///< per layer that was reached; empty text: this one raised
  std::vector<BackendId> rows;        ///< our rows behind them
  std::string stage;                  ///< empty: no error
  std::string code;
  bool warning = false;
};

std::optional<std::string> text_of(const Json& value) {
  if (!value.is_string() || value.get<std::string>().empty()) return std::nullopt;
  return value.get<std::string>();
}

std::optional<Choice> choice_of(const Json& value) {
  const auto name = text_of(value);
  return name ? std::optional(enum_choice(*name)) : std::nullopt;
}

std::string fault_code(attention::OverrideFault fault) {
  switch (fault) {
    case attention::OverrideFault::RoleUnused:
      return "role_override_unused";
    case attention::OverrideFault::ComponentUnused:
      return "component_override_unused";
    case attention::OverrideFault::NotApplied:
      return "component_override_not_applied";
    case attention::OverrideFault::Mixed:
      return "component_override_mixed";
  }
  return "";
}

class Row {
 public:
  Row(const Json& input, const Json& header, const World& world)
      : input_(input), world_(world), device_(cuda_device(input.at("capability"))) {
    install(device_, header.at("installed_sets").at(input.at("installed").get<std::string>()), input.at("env"));
    const Json& set = header.at("supported_sets").at(input.at("supported").get<std::string>());
    for (const Json& name : set.is_array() ? set : Json::array()) {
      supported_.push_back(enum_choice(name.get<std::string>()));
    }
  }

  Outcome run() {
    if (!read_arguments()) return outcome_;
    apply_quantization();
    for (const Json& layer : input_.at("layers")) {
      if (!build(layer)) return outcome_;
    }
    leave();
    return outcome_;
  }

 private:
  bool raise(std::string stage, std::string code) {
    outcome_.stage = std::move(stage);
    outcome_.code = std::move(code);
    return false;
  }

  bool read_arguments() {
    const auto kind = text_of(input_.at("global_kind"));
    explicit_ = kind == "explicit";
    if (kind == "lightweight") source_ = NameSource::Bare;
    // An empty text is no choice; only the reference's bare arguments object takes it for a name.
    const bool bare_empty = source_ == NameSource::Bare && !world_.has(Departure::Names);
    global_ = bare_empty ? std::optional(input_.at("global_backend").get<std::string>())
                         : text_of(input_.at("global_backend"));
    const int degree = input_.at("ring_degree").get<int>();
    if (degree > 1) {
      if (!attention::choice_for_ring(global_, degree)) return raise("args", "ring_needs_fa_or_sage");
      if (!global_) global_ = "fa";
    }
    const auto component = text_of(input_.at("component"));
    return !component || read_component(*component);
  }

  bool read_component(const std::string& name) {
    Json read = Json::object();
    for (const auto& [key, backend] : input_.at("component_backends").items()) {
      const auto choice = read_name(backend.get<std::string>(), NameSource::Component, world_);
      if (!choice) return raise("args", "component_name_invalid");
      read[key] = std::string(choice_name(*choice));
    }
    const auto map = attention::component_map_from_json(read);
    if (!map) return raise("args", map_code(map.error().fault));
    const auto choices = attention::choices_for(*map, name);
    const bool fallback = text_of(input_.at("component_policy")) == "fallback";
    component_ = ComponentOverride{name, choices.whole, choices.by_role, fallback, true};
    return true;
  }

  /// The reference opens a second, strict component inside the first, without its roles; we fill in one more level.
  void apply_quantization() {
    const auto format = input_.at("quantization").get<std::string>();
    const auto* policy = attention::quant_policy(format, device_);
    const bool chosen = choice_of(input_.at("forced_backend")) || (component_ && component_->whole) || global_;
    if (policy == nullptr || chosen) return;
    if (world_.has(Departure::QuantMerged)) {
      quant_ = format;
      return;
    }
    outer_ = component_;
    component_ = ComponentOverride{component_ ? component_->component : "", policy->choice, {}, false, true};
  }

  /// Nothing when the global name is reached and cannot be read.
  std::optional<Selection> selection(const Json& layer, Role role) const {
    Selection s;
    s.model_supports = supported_;
    s.quant = quant_;
    s.layer_default = choice_of(input_.at("default_backend"));
    s.layer_pin = choice_of(layer.at("required_backend"));
    s.forced = choice_of(input_.at("forced_backend"));
    if (component_) {
      s.component = component_->whole;
      const auto it = component_->by_role.find(role);
      if (it != component_->by_role.end()) s.component_role = it->second;
      s.server_may_fall_back = component_->server_may_fall_back;
    }
    const bool reached = !s.layer_pin && !s.forced && !s.component_role && !s.component;
    if (!global_ || !reached) return s;
    s.server = read_name(*global_, source_, world_);
    s.server_is_explicit = explicit_;
    return s.server ? std::optional(s) : std::nullopt;
  }

  attention::AttentionProblem problem(Role role) const {
    const auto dtype = parse_dtype(input_.at("dtype").get<std::string>()).value();
    const auto head_dim = input_.at("head_size").get<int64_t>();
    // A layer is decided before its calls are known: any size well above every kernel's least one stands for them.
    auto p =
        attention::dense_problem({.batch = 1, .seq_q = 4096, .seq_kv = 4096, .heads = 24, .head_dim = head_dim}, dtype);
    p.role = role;
    if (input_.at("packed_varlen").get<bool>()) p.varlen_bounds = {0, 2048, 4096};
    return p;
  }

  /// FlashAttention 2 is a row of its own to the reference: only its name reaches it.
  platform::DeviceProfile device_for(const Selection& s) const {
    platform::DeviceProfile d = device_;
    const auto is_fa2 = [](const std::optional<Choice>& c) { return c && *c == attention::choose(BackendId::Fa2); };
    const bool named =
        std::ranges::any_of(std::initializer_list<std::optional<Choice>>{s.layer_pin, s.forced, s.component_role,
                                                                         s.component, s.server, s.layer_default},
                            is_fa2);
    if (!world_.has(Departure::Fa2ServesFa) && !named) d.libraries.erase("flash2");
    return d;
  }

  bool build(const Json& layer) {
    const Role role = layer.at("role").get<std::string>() == "cross" ? Role::Cross : Role::Self;
    outcome_.backends.emplace_back();
    const auto s = selection(layer, role);
    if (!s) return raise("selection", "cli_name_invalid");
    const Layer asked{problem(role), *s, device_for(*s)};
    const auto decision = attention::resolve(asked.problem, asked.selection, asked.device);
    const Served served = serve(decision, asked, world_);
    outcome_.warning = outcome_.warning || served.warning;
    if (!served.taken) return raise("selection", served.code);
    outcome_.backends.back() = enum_name(served.taken->backend, served.taken->via);
    outcome_.rows.push_back(served.taken->backend);
    LayerRecord record = attention::record_of(decision, role);
    record.selected = choice_name(served.taken->via);
    records_.push_back(std::move(record));
    return true;
  }

  void leave() {
    if (!component_) return;
    const auto fault = attention::find_fault(*component_, records_);
    if (fault) {
      raise("component_exit", fault_code(*fault));
    } else if (outer_) {
      const auto outer_fault = attention::find_fault(*outer_, {});
      if (outer_fault) raise("component_exit", fault_code(*outer_fault));
    }
  }

  static std::string map_code(attention::MapFault fault) {
    return fault == attention::MapFault::BadRole ? "role_name_invalid" : "component_map_syntax";
  }

  const Json& input_;
  const World& world_;
  platform::DeviceProfile device_;
  std::vector<Choice> supported_;
  std::optional<std::string> global_;
  NameSource source_ = NameSource::Global;
  bool explicit_ = false;
  std::string quant_;
  std::optional<ComponentOverride> component_, outer_;
  std::vector<LayerRecord> records_;
  Outcome outcome_;
};

std::optional<Mismatch> differ(std::string what, std::string got, std::string want) {
  if (got == want) return std::nullopt;
  return Mismatch{std::move(what), std::move(got), std::move(want)};
}

std::optional<Mismatch> compare(const Outcome& got, const Json& want) {
  const Json& error = want.at("error");
  const bool failed = !error.is_null();
  if (auto m =
          differ("error", got.stage + ":" + got.code,
                 failed ? error.at("stage").get<std::string>() + ":" + error.at("code").get<std::string>() : ":")) {
    return m;
  }
  const Json& layers = want.at("selected");
  if (auto m = differ("layers", std::to_string(got.backends.size()), std::to_string(layers.size()))) return m;
  const bool newest = want.at("fa_version") == 4;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Json& backend = layers[i].at("backend");
    const std::string name = backend.is_null() ? "" : backend.get<std::string>();
    if (auto m = differ(strings::join("selected[", i, "].backend"), got.backends[i], name)) return m;
    if (newest && name == "FA" && got.rows[i] != BackendId::Fa4) {
      return Mismatch{"fa_version", std::string(attention::backend_name(got.rows[i])), "fa4"};
    }
  }
  return differ("warning", got.warning ? "true" : "false", want.at("warning").get<bool>() ? "true" : "false");
}

}  // namespace

RowCheck oracle_check(const Json& header) {
  return [&header](const Json& row, const World& world) {
    return compare(Row(row.at("input"), header, world).run(), row.at("expected"));
  };
}

}  // namespace tessera::golden
