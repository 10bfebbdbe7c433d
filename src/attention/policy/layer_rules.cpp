#include "attention/policy/layer_rules.h"

#include <algorithm>

#include "base/strings.h"

namespace tessera::attention {
namespace {

bool serves_ring(const Choice& choice) {
  if (choice.kind == ChoiceKind::AnyFa) return true;
  if (choice.kind != ChoiceKind::Backend) return false;
  switch (choice.backend) {
    case BackendId::Fa2:
    case BackendId::Fa3:
    case BackendId::Fa4:
    case BackendId::SageAttn:
      return true;
    default:
      return false;
  }
}

bool is_sparse_linear(BackendId id) {
  return id == BackendId::SlaAttn || id == BackendId::SageSlaAttn;
}

}  // namespace

Result<std::optional<Choice>> choice_for_ring(const std::optional<std::string>& server, int degree) {
  if (!server) return degree > 1 ? std::optional(choose_fa()) : std::nullopt;
  const auto choice = parse_choice(*server);
  if (degree > 1 && (!choice || !serves_ring(*choice))) {
    return fail(ErrorCode::Usage, strings::join("attention backend '", *server, "' cannot serve a ring of ", degree),
                "use fa or sage_attn, which merge partial results by log-sum-exp");
  }
  if (!choice) return fail(choice.error());
  return std::optional(*choice);
}

SparseLayerChoice sparse_layer_backend(std::string_view attention_type, const std::optional<std::string>& requested,
                                       const std::vector<BackendId>& supported) {
  SparseLayerChoice out;
  out.backend = attention_type == "sagesla" ? BackendId::SageSlaAttn : BackendId::SlaAttn;
  if (requested) {
    const auto choice = parse_choice(*requested);
    const bool usable = choice && choice->kind == ChoiceKind::Backend && is_sparse_linear(choice->backend);
    if (usable) out.backend = choice->backend;
    out.warning = !usable;
  }
  std::vector<BackendId> allowed;
  std::ranges::copy_if(supported, std::back_inserter(allowed), is_sparse_linear);
  if (allowed.empty() || std::ranges::find(allowed, out.backend) != allowed.end()) return out;
  out.backend = allowed.front();
  out.warning = requested.has_value();
  return out;
}

}  // namespace tessera::attention
