#include <gmock/gmock.h>

#include <string>
#include <string_view>

#include "base/text.h"
#include "read_main.h"

namespace sbp {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kArguments =
    "%x: tensor<4x6xf32>, %u: tensor<1x6xf32>, %v: tensor<1x6xf32>, %i: tensor<i32>";

std::string Number(std::string_view name, int64_t value) {
  return StrCat(name, " = \"stablehlo.constant\"() <{value = dense<", value, "> : tensor<i32>}> : () -> tensor<i32>\n");
}

std::string Update(std::string_view made, std::string_view value, std::string_view update, std::string_view row) {
  return StrCat(made, " = \"stablehlo.dynamic_update_slice\"(", value, ", ", update, ", ", row,
                ", %0) : (tensor<4x6xf32>, tensor<1x6xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>\n");
}

std::string Slice(std::string_view made, std::string_view value, std::string_view row) {
  return StrCat(made, " = \"stablehlo.dynamic_slice\"(", value, ", ", row,
                ", %0) <{slice_sizes = array<i64: 1, 6>}> : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> "
                "tensor<1x6xf32>\n");
}

TEST(SlicesTest, WhatWasWrittenAtAPlaceIsReadThere) {
  const std::string dump =
      ReadMain(kArguments, StrCat(Number("%0", 0), Number("%2", 2), Update("%a", "%x", "%u", "%0"),
                                  Update("%b", "%a", "%v", "%2"), Slice("%c", "%b", "%0"), Slice("%d", "%b", "%2"),
                                  "\"func.return\"(%c, %d) : (tensor<1x6xf32>, tensor<1x6xf32>) -> ()"));
  EXPECT_THAT(dump, AllOf(HasSubstr("Identity(u)"), HasSubstr("Identity(v)"), Not(HasSubstr("stablehlo::"))));
}

TEST(SlicesTest, WhatIsReadWholeIsJoinedWithTheNewestOnTop) {
  const std::string dump = ReadMain(kArguments, StrCat(Number("%0", 0), Number("%9", 9), Update("%a", "%x", "%u", "%0"),
                                                       Update("%b", "%a", "%u", "%9"), Update("%c", "%b", "%v", "%0"),
                                                       "\"func.return\"(%c) : (tensor<4x6xf32>) -> ()"));
  // 9 is moved inside, to the last row; v hides u in the first.
  EXPECT_THAT(dump, HasSubstr("stablehlo::concatenate(v, dynamic_update_slice, u)"));
  EXPECT_THAT(dump, HasSubstr("limit_indices=[3, 6] start_indices=[1, 0]"));
}

// Nothing recurses along what is written when it is asked for.
TEST(SlicesTest, LongChainsOfUpdatesAreWrittenPieceByPiece) {
  std::string ops = Number("%0", 0), last = "%x";
  for (int i = 0; i < 20000; ++i) {
    const std::string made = StrCat("%a", i);
    if (i % 2 == 0) {
      ops += Update(made, last, "%u", "%0");
    } else {
      ops += StrCat(made, " = \"stablehlo.reverse\"(", last,
                    ") <{dimensions = array<i64: 0>}> : (tensor<4x6xf32>) -> tensor<4x6xf32>\n");
    }
    last = made;
  }
  EXPECT_THAT(ReadMain(kArguments, StrCat(ops, "\"func.return\"(", last, ") : (tensor<4x6xf32>) -> ()")),
              HasSubstr("outputs (result.0)"));
}

TEST(SlicesTest, ComputedPlacesAreGatheredAndScattered) {
  EXPECT_THAT(ReadMain(kArguments, StrCat(Number("%0", 0), Slice("%a", "%x", "%i"),
                                          "\"func.return\"(%a) : (tensor<1x6xf32>) -> ()")),
              AllOf(HasSubstr("stablehlo::clamp(constant/0, i, constant/3)"), HasSubstr("stablehlo::gather(x, "),
                    HasSubstr("axis=0")));
  EXPECT_THAT(ReadMain(kArguments, StrCat(Number("%0", 0), Update("%a", "%x", "%u", "%i"),
                                          "\"func.return\"(%a) : (tensor<4x6xf32>) -> ()")),
              AllOf(HasSubstr("stablehlo::write_along(x, "), HasSubstr("axis=0")));
}

// 296 is no i8.
TEST(SlicesTest, PlacesOfNarrowTypesAreWidened) {
  for (const std::string_view type : {"i8", "ui8", "i16"}) {
    EXPECT_THAT(ReadMain(StrCat("%x: tensor<300xf32>, %i: tensor<", type, ">"),
                         StrCat("%a = \"stablehlo.dynamic_slice\"(%x, %i) <{slice_sizes = array<i64: 4>}> : "
                                "(tensor<300xf32>, tensor<",
                                type, ">) -> tensor<4xf32>\n\"func.return\"(%a) : (tensor<4xf32>) -> ()")),
                AllOf(HasSubstr("stablehlo::convert(i)"), HasSubstr("constant/296 i64[]")));
  }
}

TEST(SlicesTest, WhatDoesNotFitIsSaid) {
  EXPECT_THAT(ReadMain("%x: tensor<4x6xf32>, %i: tensor<i32>",
                       "%a = \"stablehlo.dynamic_slice\"(%x, %i, %i) <{slice_sizes = array<i64: 5, 6>}> : "
                       "(tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<5x6xf32>"),
              HasSubstr("m.mlir:4:6: stablehlo.dynamic_slice: a block of 5 does not fit dimension 0 of 4"));
  EXPECT_THAT(ReadMain("%x: tensor<4x6xf32>, %i: tensor<i32>",
                       "%a = \"stablehlo.dynamic_slice\"(%x, %i) <{slice_sizes = array<i64: 1, 6>}> : "
                       "(tensor<4x6xf32>, tensor<i32>) -> tensor<1x6xf32>"),
              HasSubstr("expected a size and a start for each of 2 dimensions"));
  EXPECT_THAT(ReadMain("%x: tensor<4x6xf32>",
                       "%a = \"stablehlo.slice\"(%x) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 4, "
                       "7>, strides = array<i64: 1, 1>}> : (tensor<4x6xf32>) -> tensor<4x7xf32>"),
              HasSubstr("[0, 7) by 1 is no part of dimension 1 of 6"));
}

}  // namespace
}  // namespace sbp
