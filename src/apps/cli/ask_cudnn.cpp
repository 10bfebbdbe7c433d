#include "apps/cli/ask_cudnn.h"

#include "attention/cudnn/ask.h"
#include "attention/cudnn/library.h"

namespace tessera::cli {
namespace {

OrderedJson answer(const attention::AttentionProblem& problem, const platform::DeviceProfile& device) {
  const auto said = attention::cudnn::ask(problem, device.name);
  if (said) return attention::cudnn::to_json(*said);
  attention::cudnn::Answer none;
  if (const auto library = attention::cudnn::load_library()) {
    none.version = attention::cudnn::version_text(library->version);
  }
  none.text = said.error().line();
  return attention::cudnn::to_json(none);
}

}  // namespace

Result<CudnnQuestion> ask_cudnn_question() {
  attention::AttentionProblem probe;
  probe.seq_q = probe.seq_kv = 256, probe.heads_q = probe.heads_kv = 8, probe.head_dim = probe.value_dim = 64;
  TESSERA_TRY(const auto works, attention::cudnn::ask(probe, "h200"));
  return [](const attention::AttentionProblem& problem, const platform::DeviceProfile& device) {
    return std::optional(std::pair<std::string, OrderedJson>("ask_cudnn", answer(problem, device)));
  };
}

}  // namespace tessera::cli
