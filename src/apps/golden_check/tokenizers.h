// Golden folders of tokenizers: a vocabulary and expected.json with prompts and their ids.
#pragma once

#include "apps/golden_check/report.h"

namespace tessera::golden {

bool is_tokenizer_folder(const std::filesystem::path& folder);

/// Each case counts once: ids, and where given ids_truncated, cleaned and ids_cleaned, must all be equal.
GoldenReport check_tokenizers(const std::filesystem::path& folder);

}  // namespace tessera::golden
