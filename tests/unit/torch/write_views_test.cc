#include "torch/write_views.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/dtype.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"

namespace sbp::torch {
namespace {

const TensorType kWhole = {DType::kF32, {2, 3, 4}};

// What the ops compute is compared with torch in tests/golden/run/torch.golden (writes.pt2).
TEST(WriteViewsTest, APermutationIsUndone) {
  ViewMade view{"x", "aten::permute", {}};
  view.attributes.Set("dims", std::vector<int64_t>{2, 0, -2});
  const std::optional<WriteBack> write = WriteBackOf(view, kWhole);
  ASSERT_TRUE(write.has_value());
  EXPECT_FALSE(write->takes_whole);
  EXPECT_EQ(*write->attributes.Ints("dims"), (std::vector<int64_t>{1, 2, 0}));
}

TEST(WriteViewsTest, APermutationThatIsNoneIsRefused) {
  ViewMade view{"x", "aten::permute", {}};
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{0, 0, 1}, {0, 1}, {0, 1, 3}, {}}) {
    view.attributes.Set("dims", dims);
    EXPECT_FALSE(WriteBackOf(view, kWhole).has_value());
  }
}

TEST(WriteViewsTest, ASliceKeepsWhereItStands) {
  ViewMade view{"x", "aten::slice.Tensor", {}};
  view.attributes.Set("dim", int64_t{1});
  view.attributes.Set("start", int64_t{1});
  const std::optional<WriteBack> write = WriteBackOf(view, kWhole);
  ASSERT_TRUE(write.has_value());
  EXPECT_TRUE(write->takes_whole);
  EXPECT_EQ(write->type, "aten::slice_scatter");
  EXPECT_EQ(write->attributes.Int("start", 0), 1);
}

TEST(WriteViewsTest, AShapeMustBeKnownAndAnExpandedViewIsNotWritten) {
  const TensorType open = {DType::kF32, {2, kUnknownDim}};
  EXPECT_FALSE(WriteBackOf({"x", "aten::view", {}}, open).has_value());
  EXPECT_TRUE(WriteBackOf({"x", "aten::view", {}}, kWhole).has_value());
  EXPECT_FALSE(WriteBackOf({"x", "aten::expand", {}}, kWhole).has_value());
}

}  // namespace
}  // namespace sbp::torch
