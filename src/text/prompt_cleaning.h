// What the Wan pipelines do to a prompt before it is tokenized.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tessera::text {

/// Repaired text: wrong decodings undone, entities, ligatures, widths, quotes, line ends and controls made plain, NFC.
/// Source: the same result as ftfy.fix_text with its default settings. Errors: Usage when the text is not UTF-8.
Result<std::string> fix_text(std::string_view text);

/// fix_text, HTML references twice, white space to single spaces, none at the ends.
/// Source: prompt_clean of diffusers' Wan pipelines. Errors: Usage when the text is not UTF-8.
Result<std::string> clean_prompt(std::string_view text);

}  // namespace tessera::text
