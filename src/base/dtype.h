// Element types of tensors and weight files, without any tensor library.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera {

/// Every dtype of the safetensors format. Names in text: "fp32", "bf16", "f8_e4m3", …
enum class DType { Bool, U8, I8, U16, I16, F16, BF16, U32, I32, F32, U64, I64, F64, F8E4M3, F8E5M2 };

/// Bytes of one element.
int64_t size_bytes(DType dtype);

/// The name that flags and JSON use: "fp32", "fp16", "bf16", "int8", …
std::string_view dtype_name(DType dtype);

/// The dtype of such a name; also takes "float32", "f32", "float16", "bfloat16".
std::optional<DType> parse_dtype(std::string_view name);

}  // namespace tessera
