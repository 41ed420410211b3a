// Whole tensors to parts and back, layouts changed in place.
#include "runtime/data/parts.h"

#include <gtest/gtest.h>

#include "unit/runtime/graphs.h"

namespace sbp {
namespace {

Mesh MeshOf(std::string_view text) { return ParseMesh(text).value(); }
NdSbp Layout(std::string_view text) { return ParseNdSbp(text).value(); }

// The part of `whole` that a device holds where nothing is partial.
Value PartOf(const Value& whole, const NdSbp& layout, const Mesh& mesh, int64_t device) {
  Value part;
  part.view = PartView(whole.view.dtype, whole.view.shape, layout, mesh, mesh.Coordinates(device), nullptr);
  part.memory = AllocateBytes(part.view.bytes());
  part.view.data = part.memory.get();
  ChangeLocally(whole.view, NdSbp(mesh.num_axes()), layout, mesh.Coordinates(device), part.view);
  return part;
}

const Value kMatrix = TestTensor(DType::kF32, {3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});

TEST(Parts, SlicesAreUneven) {
  const Mesh mesh = MeshOf("2");
  EXPECT_EQ(ToText(PartOf(kMatrix, Layout("S(0)"), mesh, 0)), "f32[2,4] 0 1 2 3 4 5 6 7");
  EXPECT_EQ(ToText(PartOf(kMatrix, Layout("S(0)"), mesh, 1)), "f32[1,4] 8 9 10 11");
  EXPECT_EQ(ToText(PartOf(kMatrix, Layout("S(1)"), mesh, 1)), "f32[3,2] 2 3 6 7 10 11");
}

TEST(Parts, OneRankKeepsWhatBecomesASum) {
  const Mesh mesh = MeshOf("2");
  EXPECT_EQ(ToText(PartOf(kMatrix, Layout("P(sum)"), mesh, 0)), ToText(kMatrix));
  EXPECT_EQ(ToText(PartOf(kMatrix, Layout("P(sum)"), mesh, 1)), "f32[3,4] 0 0 0 0 0 0 0 0 0 0 0 0");
  EXPECT_EQ(ToText(PartOf(kMatrix, Layout("P(max)"), mesh, 1)), "f32[3,4] 0 1 2 3 4 5 6 7 8 9 10 11");
  // A split becomes partial in place: the other ranks' elements are neutral.
  Value rows = PartOf(kMatrix, Layout("S(0)"), mesh, 1);
  Value sum = MakeTensor(DType::kF32, {3, 4}).value();
  ChangeLocally(rows.view, Layout("S(0)"), Layout("P(prod)"), {1}, sum.view);
  EXPECT_EQ(ToText(sum), "f32[3,4] 1 1 1 1 1 1 1 1 8 9 10 11");
}

TEST(Parts, PartsMakeTheWholeAgain) {
  for (const char* axes : {"2", "3", "2,2", "2,3"}) {
    const Mesh mesh = MeshOf(axes);
    const std::vector<std::string> one = {"B", "S(0)", "S(1)", "P(sum)", "P(max)", "P(min)", "P(prod)"};
    for (const std::string& outer : one) {
      for (const std::string& inner : one) {
        if (mesh.num_axes() == 1 && inner != "B") continue;
        // Two kinds of partial along two axes are no layout.
        if (outer[0] == 'P' && inner[0] == 'P' && outer != inner) continue;
        const NdSbp layout = Layout(mesh.num_axes() == 1 ? outer : "(" + outer + ", " + inner + ")");
        std::vector<Value> parts;
        for (int64_t d = 0; d < mesh.num_devices(); ++d) parts.push_back(PartOf(kMatrix, layout, mesh, d));
        const auto copies = AssembleCopies(parts, layout, mesh);
        ASSERT_TRUE(copies.ok()) << ToString(layout);
        size_t expected = 1;
        for (int axis = 0; axis < layout.size(); ++axis) {
          if (layout[axis].is_broadcast()) expected *= static_cast<size_t>(mesh.axes[axis].size);
        }
        EXPECT_EQ(copies->size(), expected) << ToString(layout);
        for (const Value& copy : *copies) EXPECT_EQ(ToText(copy), ToText(kMatrix)) << ToString(layout) << axes;
      }
    }
  }
}

TEST(Parts, SumsAddUpAndCopiesStayApart) {
  const Mesh mesh = MeshOf("2,2");
  const NdSbp layout = Layout("(B, P(sum))");
  std::vector<Value> parts;
  for (const double v : {1.0, 2.0, 10.0, 30.0}) parts.push_back(TestTensor(DType::kI32, {1}, {v}));
  for (Value& part : parts) part.view.ranges = {{0, 1}};
  const auto copies = AssembleCopies(parts, layout, mesh);
  ASSERT_TRUE(copies.ok());
  ASSERT_EQ(copies->size(), 2U);
  EXPECT_EQ(ToText((*copies)[0]), "i32[1] 3");
  EXPECT_EQ(ToText((*copies)[1]), "i32[1] 40");  // differs: a caller sees that the copies disagree
}

TEST(Parts, DevicesMustAgree) {
  const Mesh mesh = MeshOf("2");
  const NdSbp copies = Layout("B");
  const Value a = TestTensor(DType::kF32, {2}, {1, 2});
  for (const Value& other : {TestTensor(DType::kF32, {3}, {1, 2, 3}), TestTensor(DType::kI32, {2}, {1, 2})}) {
    const auto result = AssembleCopies({a, other}, copies, mesh);
    EXPECT_EQ(result.status().code(), Code::kRunFailed);
    EXPECT_EQ(result.status().message(), "devices disagree about its size");
  }
}

}  // namespace
}  // namespace sbp
