#include "attention/policy/selection.h"

#include "base/strings.h"

namespace tessera::attention {
namespace {

struct Alias {
  std::string_view alias;
  std::string_view name;
};

// The one alias table: every flag, the config file and explain --batch read names through it.
constexpr Alias kAliases[] = {
    {"sdpa", "torch_sdpa"}, {"cudnn", "torch_cudnn_sdpa"}, {"cudnn_sdpa", "torch_cudnn_sdpa"}, {"sage", "sage_attn"}};

Result<Choice> parse_name(std::string_view name, std::string_view whole) {
  for (const Alias& row : kAliases) {
    if (row.alias == name) name = row.name;
  }
  if (name == "auto") return Choice{};
  if (name == "fa") return choose_fa();
  if (name == "dynamic_cudnn_sdpa") return choose_dynamic();
  if (const auto id = backend_of(name)) return choose(*id);
  return fail(ErrorCode::Usage, strings::join("unknown attention backend '", whole, "'"),
              strings::join("known names: ", strings::list(choice_names())));
}

}  // namespace

uint64_t code_of(const std::optional<Choice>& c) {
  if (!c) return 0;
  return 1 + (static_cast<uint64_t>(c->kind) << 16) + (static_cast<uint64_t>(c->demand) << 8) +
         static_cast<uint64_t>(c->backend);
}

std::string_view choice_name(const Choice& choice) {
  switch (choice.kind) {
    case ChoiceKind::Auto:
      return "auto";
    case ChoiceKind::Backend:
      return backend_name(choice.backend);
    case ChoiceKind::AnyFa:
      return "fa";
    case ChoiceKind::DynamicCudnn:
      return "dynamic_cudnn_sdpa";
  }
  return "auto";
}

Result<Choice> parse_choice(std::string_view text) {
  const std::string lower = strings::lower(strings::trim(text));
  std::string_view name = lower;
  Demand demand = Demand::Usual;
  if (name.starts_with("strict:")) demand = Demand::Strict;
  if (name.starts_with("prefer:")) demand = Demand::Prefer;
  if (demand != Demand::Usual) name = strings::trim(name.substr(7));
  TESSERA_TRY(Choice choice, parse_name(name, text));
  choice.demand = demand;
  return choice;
}

std::vector<std::string> choice_names() {
  std::vector<std::string> out = {"auto", "fa", "dynamic_cudnn_sdpa"};
  for (const BackendId id : all_backends()) out.emplace_back(backend_name(id));
  for (const Alias& row : kAliases) out.emplace_back(row.alias);
  return out;
}

std::string_view quality_name(Quality quality) {
  switch (quality) {
    case Quality::Exact:
      return "exact";
    case Quality::High:
      return "high";
    case Quality::Fast:
      return "fast";
  }
  return "exact";
}

std::optional<Quality> parse_quality(std::string_view name) {
  for (const Quality q : {Quality::Exact, Quality::High, Quality::Fast}) {
    if (quality_name(q) == name) return q;
  }
  return std::nullopt;
}

std::string_view origin_name(Origin origin) {
  switch (origin) {
    case Origin::LayerPin:
      return "layer_pin";
    case Origin::Forced:
      return "forced";
    case Origin::ComponentRole:
      return "component_role";
    case Origin::Component:
      return "component";
    case Origin::Server:
      return "server";
    case Origin::QuantPolicy:
      return "quant_policy";
    case Origin::LayerDefault:
      return "layer_default";
    case Origin::Rule:
      return "rule";
    case Origin::Default:
      return "default";
  }
  return "default";
}

std::string_view asker_name(Origin origin, const Selection& selection) {
  if (origin == Origin::Server) return selection.server_origin;
  if (origin == Origin::Component || origin == Origin::ComponentRole) return selection.component_origin;
  return origin_name(origin);
}

}  // namespace tessera::attention
