#include "base/dtype.h"

#include <gtest/gtest.h>

#include "base/checked_math.h"

namespace sbp {
namespace {

TEST(DType, EveryNameReadsBack) {
  EXPECT_EQ(DTypeNames().size(), 26u);
  for (const std::string& name : DTypeNames()) {
    const auto type = ParseDType(name);
    ASSERT_TRUE(type.has_value()) << name;
    EXPECT_EQ(DTypeName(*type), name);
  }
}

TEST(DType, TakesUsualNames) {
  EXPECT_EQ(ParseDType("FLOAT"), DType::kF32);
  EXPECT_EQ(ParseDType("float32"), DType::kF32);
  EXPECT_EQ(ParseDType("DOUBLE"), DType::kF64);
  EXPECT_EQ(ParseDType("float16"), DType::kF16);
  EXPECT_EQ(ParseDType("BFLOAT16"), DType::kBF16);
  EXPECT_EQ(ParseDType("int64"), DType::kI64);
  EXPECT_EQ(ParseDType("f31"), std::nullopt);
  EXPECT_EQ(ParseDType(""), std::nullopt);
}

TEST(DType, WidthsAndFamilies) {
  EXPECT_EQ(DTypeBits(DType::kI4), 4);
  EXPECT_EQ(DTypeBits(DType::kU2), 2);
  EXPECT_EQ(DTypeBits(DType::kC128), 128);
  EXPECT_EQ(DTypeBits(DType::kString), 0);
  EXPECT_TRUE(IsFloat(DType::kF4E2M1) && IsSigned(DType::kF4E2M1));
  EXPECT_TRUE(IsInteger(DType::kU64) && !IsSigned(DType::kU64));
  EXPECT_FALSE(IsInteger(DType::kBool) || IsFloat(DType::kBool));
  EXPECT_TRUE(IsStorageOnly(DType::kF8E5M2) && IsStorageOnly(DType::kF4E2M1) && IsStorageOnly(DType::kU2));
  EXPECT_FALSE(IsStorageOnly(DType::kI8) || IsStorageOnly(DType::kF16) || IsStorageOnly(DType::kBool));
  EXPECT_EQ(DTypeName(static_cast<DType>(200)), "undefined");
}

TEST(CheckedMath, Saturates) {
  EXPECT_EQ(SaturatingMul(kInt64Max, 2), kInt64Max);
  EXPECT_EQ(SaturatingMul(kInt64Max, 0), 0);
  EXPECT_EQ(SaturatingAdd(kInt64Max, 1), kInt64Max);
  EXPECT_EQ(CheckedMul(1LL << 32, 1LL << 31), std::nullopt);
  EXPECT_EQ(CeilDiv(7, 2), 4);
}

}  // namespace
}  // namespace sbp
