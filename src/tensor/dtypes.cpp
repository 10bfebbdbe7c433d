#include "tensor/dtypes.h"

#include "base/check.h"

namespace tessera::tensor {
namespace {

constexpr std::pair<DType, at::ScalarType> kRows[] = {
    {DType::Bool, at::kBool},
    {DType::U8, at::kByte},
    {DType::I8, at::kChar},
    {DType::U16, at::kUInt16},
    {DType::I16, at::kShort},
    {DType::F16, at::kHalf},
    {DType::BF16, at::kBFloat16},
    {DType::U32, at::kUInt32},
    {DType::I32, at::kInt},
    {DType::F32, at::kFloat},
    {DType::U64, at::kUInt64},
    {DType::I64, at::kLong},
    {DType::F64, at::kDouble},
    {DType::F8E4M3, at::kFloat8_e4m3fn},
    {DType::F8E5M2, at::kFloat8_e5m2},
};

}  // namespace

at::ScalarType scalar_type(DType dtype) {
  for (const auto& [ours, theirs] : kRows) {
    if (ours == dtype) return theirs;
  }
  throw Bug("a dtype without an ATen type");
}

DType dtype_of(at::ScalarType type) {
  for (const auto& [ours, theirs] : kRows) {
    if (theirs == type) return ours;
  }
  throw Bug(strings::join("no weight dtype for ", c10::toString(type)));
}

}  // namespace tessera::tensor
