// The header of a safetensors file: which tensors it has, of what type and shape, and where their bytes are.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"

namespace tessera::weights {

/// One tensor of a file.
struct TensorInfo {
  std::string stored_dtype;    ///< as the file spells it: "BF16", "F8_E4M3", …
  std::optional<DType> dtype;  ///< nothing for types that no computation here knows (F4, F6_…, F8_E8M0, C64, …)
  std::vector<int64_t> shape;
  int64_t begin_bytes = 0;  ///< from the start of the file
  int64_t end_bytes = 0;

  int64_t size_bytes() const { return end_bytes - begin_bytes; }
  int64_t elements() const;
};

struct Header {
  std::optional<std::map<std::string, std::string>> metadata;
  std::map<std::string, TensorInfo> tensors;
};

/// Reads and checks the header of a file of which `bytes` is the whole content; nothing outside of it is read.
/// Accepts what the official library accepts, but no name twice: the ranges of the tensors must cover the data exactly,
/// without gap, overlap or rest, and agree with type and shape. Alignment is not required.
/// Errors: BadFile with `origin` and the first thing that is wrong; OutOfMemory.
/// Source: the format's own description (github.com/huggingface/safetensors), checked against version 0.8.0.
Result<Header> parse_header(std::string_view bytes, const std::string& origin);

/// "BF16 [3, 4]", for messages.
std::string describe(const TensorInfo& info);

}  // namespace tessera::weights
