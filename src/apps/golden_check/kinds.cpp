// The table of golden kinds: how each folder is recognised and what checks it.
#include "apps/golden_check/attention.h"
#include "apps/golden_check/report.h"
#include "apps/golden_check/pipelines.h"
#include "apps/golden_check/safetensors.h"
#include "apps/golden_check/selector.h"
#include "apps/golden_check/tokenizers.h"

namespace tessera::golden {

// Each row: {"pipeline", is_pipeline, check_pipeline} and so on; the checkers stand in the files of their names.
const std::vector<GoldenKind>& golden_kinds() {
  static const std::vector<GoldenKind> table = {
      {"pipeline", is_pipeline, check_pipeline},
      {"attention", is_attention, check_attention},
      {"safetensors", is_safetensors, check_safetensors},
      {"selector", is_selector, check_selector},
      {"tokenizer", is_tokenizer_folder, check_tokenizers},
  };
  return table;
}

const GoldenKind* kind_of(const std::filesystem::path& folder) {
  for (const auto& kind : golden_kinds()) {
    if (kind.recognises(folder)) return &kind;
  }
  return nullptr;
}

}  // namespace tessera::golden
