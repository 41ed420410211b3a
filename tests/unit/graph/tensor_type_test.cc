#include "graph/tensor_type.h"

#include <gtest/gtest.h>

#include "base/checked_math.h"
#include "graph/literal.h"

namespace sbp {
namespace {

TEST(TensorType, ReadsAndPrints) {
  const struct {
    const char* text;
    const char* printed;  // "" if an error
  } kRows[] = {{"f32[16,32]", "f32[16,32]"},
               {" FLOAT16 [ 2 , ? ] ", "f16[2,?]"},
               {"i64[]", "i64[]"},
               {"bf16[...]", "bf16[...]"},
               {"undefined[...]", "undefined[...]"},
               {"sequence(f32[3])", "sequence(f32[3])"},
               {"optional(i64[...])", "optional(i64[...])"},
               {"f32", ""},
               {"f32[", ""},
               {"f32[-1]", ""},
               {"f32[1,]", ""},
               {"f33[1]", ""},
               {"f32[99999999999999999999]", ""}};
  for (const auto& row : kRows) {
    const Result<TensorType> type = ParseTensorType(row.text);
    EXPECT_EQ(type.ok() ? ToString(*type) : "", row.printed) << row.text;
  }
  EXPECT_EQ(ParseTensorType("f33[1]").status().message(),
            "type \"f33[1]\": \"f33\" is no element type (did you mean \"f32\"?)");
}

TEST(TensorType, SizesSaturate) {
  const struct {
    const char* text;
    int64_t elements, bytes;
  } kRows[] = {{"f32[16,32]", 512, 2048},
               {"i64[]", 1, 8},
               {"u4[3]", 3, 2},
               {"u2[5]", 5, 2},
               {"bool[7]", 7, 7},
               {"f32[4,?]", 0, 0},
               {"f32[0,4294967296,4294967296]", 0, 0},
               {"f32[4294967296,4294967296,0]", 0, 0},
               {"u8[4294967296,4294967296]", kInt64Max, kInt64Max},
               {"f64[4611686018427387904]", 4611686018427387904, kInt64Max}};
  for (const auto& row : kRows) {
    const TensorType type = *ParseTensorType(row.text);
    EXPECT_EQ(type.num_elements(), row.elements) << row.text;
    EXPECT_EQ(type.num_bytes(), row.bytes) << row.text;
  }
}

TEST(Literal, Prints) {
  EXPECT_EQ(ToString(Literal::Ints({1, 2, 3})), "[1, 2, 3]");
  EXPECT_EQ(ToString(Literal::Scalar(-1)), "-1");
  EXPECT_EQ(ToString(Literal::Float(0.5)), "0.5");
  EXPECT_EQ(ToString(Literal::Ints(std::vector<int64_t>(1000, 7)), 4), "[7, 7, ... (1000 values)]");
  EXPECT_EQ(ToString(Literal::Ints({})), "[]");
  EXPECT_NE(HashLiteral(Literal::Scalar(1)), HashLiteral(Literal::Ints({1})));
}

}  // namespace
}  // namespace sbp
