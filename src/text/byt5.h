// ByT5: the ids are the bytes of the text, moved up by three.
#pragma once

#include <memory>

#include "text/added_tokens.h"
#include "text/tokenizer.h"

namespace tessera::text {

std::unique_ptr<Tokenizer> make_byt5(AddedTokens added, Framing framing);

}  // namespace tessera::text
