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

std::string Gathered(std::string_view numbers, std::string_view indices, std::string_view result) {
  return ReadMain(StrCat("%x: tensor<4x6xf32>, %i: tensor<", indices, "xi32>"),
                  StrCat("%y = \"stablehlo.gather\"(%x, %i) <{dimension_numbers = #stablehlo.gather<", numbers,
                         ">}> : (tensor<4x6xf32>, tensor<", indices, "xi32>) -> tensor<", result,
                         "xf32>\n\"func.return\"(%y) : (tensor<", result, "xf32>) -> ()"));
}

// One update a row index, by a region of `body`.
std::string Scattered(std::string_view body, std::string_view end) {
  return ReadMain("%x: tensor<4x6xf32>, %i: tensor<3x1xi32>, %u: tensor<3x6xf32>",
                  StrCat("%y = \"stablehlo.scatter\"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<"
                         "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
                         "index_vector_dim = 1>}> ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n",
                         body, "\"stablehlo.return\"(", end,
                         ") : (tensor<f32>) -> ()\n}) : (tensor<4x6xf32>, tensor<3x1xi32>, tensor<3x6xf32>) -> "
                         "tensor<4x6xf32>\n\"func.return\"(%y) : (tensor<4x6xf32>) -> ()"));
}

TEST(IndexingTest, RowsAreGatheredAlongAnAxis) {
  EXPECT_THAT(Gathered("offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1",
                       "3x1", "3x6"),
              AllOf(HasSubstr("stablehlo::gather("), HasSubstr("axis=0"), Not(HasSubstr("transpose"))));
  EXPECT_THAT(Gathered("offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1",
                       "3x1", "4x3"),
              AllOf(HasSubstr("stablehlo::gather("), HasSubstr("axis=1"), Not(HasSubstr("transpose"))));
}

TEST(IndexingTest, PairsOfIndicesAreOneVector) {
  EXPECT_THAT(Gathered("collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1", "3x2", "3"),
              AllOf(HasSubstr("stablehlo::gather_nd(x, i)"), HasSubstr("limits=[3, 5]")));
}

TEST(IndexingTest, OneIndexForEachElementGoesAlongTheAxis) {
  EXPECT_THAT(Gathered("collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], "
                       "start_index_map = [1], index_vector_dim = 2",
                       "4x2x1", "4x2"),
              AllOf(HasSubstr("stablehlo::gather_along("), HasSubstr("axis=1")));
}

TEST(IndexingTest, ScattersByTheRegionsOp) {
  const auto by = [](std::string_view op) {
    return Scattered(StrCat("%s = \"stablehlo.", op, "\"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n"), "%s");
  };
  EXPECT_THAT(by("add"), HasSubstr("reduction=\"add\""));
  EXPECT_THAT(by("multiply"), HasSubstr("reduction=\"mul\""));
  EXPECT_THAT(by("maximum"), HasSubstr("reduction=\"max\""));
  EXPECT_THAT(by("minimum"), HasSubstr("reduction=\"min\""));
  EXPECT_THAT(Scattered("", "%b"), HasSubstr("reduction=\"none\""));
  EXPECT_THAT(by("subtract"), HasSubstr("m.mlir:4:6: stablehlo.scatter: only scatters of one operand, by add"));
  EXPECT_THAT(Scattered("", "%a"), HasSubstr("only scatters of one operand, by add"));
}

TEST(IndexingTest, WhatDoesNotFitIsSaid) {
  EXPECT_THAT(Gathered("offset_dims = [1], collapsed_slice_dims = [2], start_index_map = [0], index_vector_dim = 1",
                       "3x1", "3x6"),
              HasSubstr("dimension 2 of the operand is not one of 2"));
  EXPECT_THAT(Gathered("offset_dims = [1, 2], start_index_map = [0], index_vector_dim = 1", "3x1", "3x2x6"),
              HasSubstr("only slices that are whole, or one element long where they are indexed, are read"));
  EXPECT_THAT(Gathered("offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1",
                       "3x1", "2x6"),
              HasSubstr("the indices do not fit the slices"));
}

}  // namespace
}  // namespace sbp
