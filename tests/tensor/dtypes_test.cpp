#include "tensor/dtypes.h"

#include <gtest/gtest.h>

#include "base/check.h"

namespace tessera::tensor {

TEST(DTypes, EveryWeightDTypeHasAnAtenTypeOfTheSameSize) {
  for (int i = 0; i <= static_cast<int>(DType::F8E5M2); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(static_cast<int64_t>(c10::elementSize(scalar_type(dtype))), size_bytes(dtype)) << dtype_name(dtype);
    EXPECT_EQ(dtype_of(scalar_type(dtype)), dtype);
  }
}

TEST(DTypes, ComplexIsRefused) {
  EXPECT_THROW(dtype_of(at::kComplexFloat), Bug);
}

}  // namespace tessera::tensor
