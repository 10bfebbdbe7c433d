#include "attention/policy/model_set.h"

#include <algorithm>

#include "attention/policy/catalog.h"

namespace tessera::attention {
namespace {

bool lists(const std::vector<Choice>& set, const Choice& wanted) {
  return std::ranges::any_of(set, [&](const Choice& c) {
    return c.kind == wanted.kind && (c.kind != ChoiceKind::Backend || c.backend == wanted.backend);
  });
}

bool lists_row(const std::vector<Choice>& set, BackendId id) {
  return lists(set, choose(id));
}

bool allows_dynamic(const std::vector<Choice>& set) {
  return lists(set, choose_dynamic()) || (lists(set, choose_fa()) && lists_row(set, BackendId::TorchSdpa));
}

}  // namespace

bool model_allows(const std::vector<Choice>& set, const Choice& via, BackendId id) {
  if (set.empty() || lists_row(set, id)) return true;
  if (via.kind == ChoiceKind::DynamicCudnn) return allows_dynamic(set);
  switch (id) {
    case BackendId::Fa2:
    case BackendId::Fa3:
    case BackendId::Fa4:
      return lists(set, choose_fa());
    case BackendId::TorchCudnnSdpa:
    case BackendId::CpuFlash:
    case BackendId::CpuSage:
    case BackendId::Reference:
      return lists_row(set, BackendId::TorchSdpa) || lists(set, choose_fa());
    default:
      return false;
  }
}

std::vector<Choice> sorted_by_name(std::vector<Choice> set) {
  std::ranges::sort(set, {}, [](const Choice& c) { return choice_name(c); });
  return set;
}

bool dynamic_by_default(const AttentionProblem& problem, const Selection& selection,
                        const platform::DeviceProfile& device) {
  if (!device.is_blackwell()) return false;
  if (!selection.model_supports.empty() && !allows_dynamic(selection.model_supports)) return false;
  // Masks and alignment are matters of one call: the preset stays, and cuDNN serves what FlashAttention refuses.
  AttentionProblem plain =
      dense_problem({problem.batch, problem.seq_q, problem.seq_kv, problem.heads_q, problem.head_dim}, problem.dtype);
  plain.heads_kv = problem.heads_kv;
  return std::ranges::any_of(std::initializer_list<BackendId>{BackendId::Fa4, BackendId::Fa3, BackendId::Fa2},
                             [&](BackendId id) { return accepts(id, plain, device).accepted(); });
}

}  // namespace tessera::attention
