#include <gmock/gmock.h>

#include <string>
#include <string_view>

#include "base/text.h"
#include "read_main.h"

namespace sbp {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// x and i, sorted along dimension 1 by the comparison that `body` makes as %less.
std::string Sorted(std::string_view body) {
  return ReadMain("%x: tensor<4x6xf32>, %i: tensor<4x6xi32>",
                  StrCat("%s:2 = \"stablehlo.sort\"(%x, %i) <{dimension = 1 : i64, is_stable = true}> ({\n"
                         "^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):\n",
                         body,
                         "\"stablehlo.return\"(%less) : (tensor<i1>) -> ()\n}) : (tensor<4x6xf32>, tensor<4x6xi32>) -> "
                         "(tensor<4x6xf32>, tensor<4x6xi32>)\n\"func.return\"(%s#0, %s#1) : (tensor<4x6xf32>, "
                         "tensor<4x6xi32>) -> ()"));
}

std::string Less(std::string_view left, std::string_view right, std::string_view direction,
                 std::string_view type = "f32") {
  return StrCat("%less = \"stablehlo.compare\"(", left, ", ", right,
                ") <{comparison_direction = #stablehlo<comparison_direction ", direction, ">}> : (tensor<", type,
                ">, tensor<", type, ">) -> tensor<i1>\n");
}

TEST(SortingTest, OtherOperandsFollowTheKey) {
  EXPECT_THAT(Sorted(Less("%a", "%b", "LT")),
              AllOf(HasSubstr("stablehlo::sort(x)"), HasSubstr("descending=0 dimension=1"),
                    HasSubstr("stablehlo::gather_along(i, sort_2)")));
  EXPECT_THAT(Sorted(Less("%c", "%d", "GT", "i32")),
              AllOf(HasSubstr("stablehlo::sort(i)"), HasSubstr("descending=1"), HasSubstr("gather_along(x, ")));
}

// As JAX writes it: both zeros are one, and so is every NaN.
TEST(SortingTest, CanonicalNumbersAreTheNumbers) {
  const auto canonical = [](std::string_view of, std::string_view made, std::string_view constant) {
    return StrCat("%z", made, " = \"stablehlo.constant\"() <{value = dense<", constant,
                  "> : tensor<f32>}> : () -> tensor<f32>\n%t", made, " = \"stablehlo.compare\"(", of, ", %z", made,
                  ") <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f32>, tensor<f32>) -> "
                  "tensor<i1>\n%",
                  made, " = \"stablehlo.select\"(%t", made, ", %z", made, ", ", of,
                  ") : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>\n");
  };
  EXPECT_THAT(Sorted(StrCat(canonical("%a", "e", "0.0"), canonical("%b", "f", "0.0"), Less("%e", "%f", "LT"))),
              HasSubstr("stablehlo::sort(x)"));
  EXPECT_THAT(Sorted(StrCat(canonical("%a", "e", "1.0"), canonical("%b", "f", "1.0"), Less("%e", "%f", "LT"))),
              HasSubstr("only sorts by one operand"));
}

TEST(SortingTest, OtherComparisonsAreRefused) {
  EXPECT_THAT(Sorted(Less("%b", "%a", "LT")),
              HasSubstr("m.mlir:4:8: stablehlo.sort: only sorts by one operand, ascending or descending, are read"));
  EXPECT_THAT(Sorted(Less("%a", "%b", "EQ")), HasSubstr("only sorts by one operand"));
}

}  // namespace
}  // namespace sbp
