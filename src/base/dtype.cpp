#include "base/dtype.h"

#include <array>

#include "base/strings.h"

namespace tessera {
namespace {

struct Row {
  DType dtype;
  int64_t bytes;
  std::string_view name;
  std::string_view alias;
};

constexpr std::array<Row, 15> kRows = {{
    {DType::Bool, 1, "bool", "bool"},
    {DType::U8, 1, "uint8", "u8"},
    {DType::I8, 1, "int8", "i8"},
    {DType::U16, 2, "uint16", "u16"},
    {DType::I16, 2, "int16", "i16"},
    {DType::F16, 2, "fp16", "float16"},
    {DType::BF16, 2, "bf16", "bfloat16"},
    {DType::U32, 4, "uint32", "u32"},
    {DType::I32, 4, "int32", "i32"},
    {DType::F32, 4, "fp32", "float32"},
    {DType::U64, 8, "uint64", "u64"},
    {DType::I64, 8, "int64", "i64"},
    {DType::F64, 8, "fp64", "float64"},
    {DType::F8E4M3, 1, "f8_e4m3", "float8_e4m3fn"},
    {DType::F8E5M2, 1, "f8_e5m2", "float8_e5m2"},
}};

const Row& row(DType dtype) {
  for (const Row& r : kRows) {
    if (r.dtype == dtype) return r;
  }
  return kRows[0];
}

}  // namespace

int64_t size_bytes(DType dtype) {
  return row(dtype).bytes;
}

std::string_view dtype_name(DType dtype) {
  return row(dtype).name;
}

std::optional<DType> parse_dtype(std::string_view name) {
  std::string text = strings::lower(name);
  if (text.size() == 3 && text[0] == 'f') text.insert(1, "p");  // f16, f32, f64
  for (const Row& r : kRows) {
    if (text == r.name || text == r.alias) return r.dtype;
  }
  return std::nullopt;
}

}  // namespace tessera
