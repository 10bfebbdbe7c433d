// What is asked of attention: at which level, how strongly, and what may be used instead.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention/policy/backend_id.h"
#include "base/result.h"

namespace tessera::attention {

/// How strongly a choice is meant. Usual: the level decides (see Selection).
enum class Demand { Usual, Strict, Prefer };

/// What a name can mean: a row, the newest FlashAttention row that accepts, or cuDNN and FlashAttention by the rules.
enum class ChoiceKind { Auto, Backend, AnyFa, DynamicCudnn };

/// One parsed `--attention-backend` value.
struct Choice {
  ChoiceKind kind = ChoiceKind::Auto;
  BackendId backend = BackendId::Reference;  ///< only with ChoiceKind::Backend
  Demand demand = Demand::Usual;

  bool operator==(const Choice&) const = default;
  bool is_auto() const { return kind == ChoiceKind::Auto; }
};

inline Choice choose(BackendId id, Demand demand = Demand::Usual) {
  return {ChoiceKind::Backend, id, demand};
}
inline Choice choose_fa(Demand demand = Demand::Usual) {
  return {ChoiceKind::AnyFa, BackendId::Fa4, demand};
}
inline Choice choose_dynamic(Demand demand = Demand::Usual) {
  return {ChoiceKind::DynamicCudnn, BackendId::TorchCudnnSdpa, demand};
}

/// "auto", "fa", "dynamic_cudnn_sdpa" or a backend's name; never an alias, no prefix.
std::string_view choice_name(const Choice& choice);

/// A small number (below 2^20), 0 for no choice; equal exactly for equal choices.
uint64_t code_of(const std::optional<Choice>& choice);

/// Parses NAME, `strict:NAME` or `prefer:NAME`; case and outer blanks do not matter; one alias table for every flag.
/// Errors: Usage, with the known names.
Result<Choice> parse_choice(std::string_view text);

/// The names and aliases that parse_choice takes, for --help and messages.
std::vector<std::string> choice_names();

/// The error a result may have. Exact: rounding of the dtype's own arithmetic. High: reduced inner precision
/// (bf16 products for fp32 inputs). Fast: quantised products, bounded by the catalog row.
enum class Quality { Exact, High, Fast };
std::string_view quality_name(Quality quality);
std::optional<Quality> parse_quality(std::string_view name);

/// Where a choice came from, in the order of precedence.
enum class Origin { LayerPin, Forced, ComponentRole, Component, Server, QuantPolicy, LayerDefault, Rule, Default };
std::string_view origin_name(Origin origin);  ///< "layer_pin", "forced", "component_role", …

/// Everything asked for one layer. Absent levels are skipped; the first present one, in the order of the fields,
/// applies. LayerPin, Forced, ComponentRole and Component are strict; Server is strict unless `server_may_fall_back`;
/// the last two are preferences. `strict:` and `prefer:` in a Choice say it outright.
struct Selection {
  std::optional<Choice> layer_pin;
  std::optional<Choice> forced;
  std::optional<Choice> component_role;
  std::optional<Choice> component;
  std::optional<Choice> server;
  std::string quant;  ///< quantization format of the weights ("modelopt_fp4"), empty for none
  std::optional<Choice> layer_default;
  std::vector<Choice> model_supports;     ///< limits automatic choice only; empty: any
  bool server_may_fall_back = false;      ///< text encoders and VAE: the global flag is a preference there
  bool server_is_explicit = true;         ///< false: the value was filled in by the program, so it is a preference
  std::string server_origin = "flag";     ///< "flag", "environment", "config" or "recipe", for provenance
  std::string component_origin = "flag";  ///< the same of `component` and `component_role`
  Quality quality = Quality::Exact;

  bool operator==(const Selection&) const = default;
  static Selection automatic() { return {}; }
};

/// Who is behind a level: "flag", "environment", … for what a person asked, else the level's own name.
std::string_view asker_name(Origin origin, const Selection& selection);

}  // namespace tessera::attention
