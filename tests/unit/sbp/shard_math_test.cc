#include "sbp/shard_math.h"

#include <gtest/gtest.h>

#include <map>

namespace sbp {
namespace {

// Balanced parts by dealing: the elements are handed out one by one, then laid end to end.
std::vector<Range> DealtParts(Range whole, int64_t parts) {
  std::vector<int64_t> counts(parts, 0);
  for (int64_t i = 0; i < whole.size(); ++i) ++counts[i % parts];
  std::vector<Range> ranges;
  int64_t at = whole.begin;
  for (int64_t count : counts) {
    ranges.push_back({at, at + count});
    at += count;
  }
  return ranges;
}

TEST(BalancedPart, EqualsDealing) {
  for (int64_t size = 0; size <= 40; ++size) {
    for (int64_t parts = 1; parts <= 12; ++parts) {
      const std::vector<Range> expected = DealtParts({5, 5 + size}, parts);
      for (int64_t p = 0; p < parts; ++p) EXPECT_EQ(BalancedPart({5, 5 + size}, parts, p), expected[p]);
    }
  }
}

// All layouts of a tensor of `rank` dimensions on `axes` mesh axes: S of each dim, B, P(sum), P(max).
std::vector<NdSbp> AllLayouts(int rank, int axes) {
  std::vector<Sbp> choices = {Sbp::Broadcast(), Sbp::Partial(), Sbp::Partial(ReduceKind::kMax)};
  for (int d = 0; d < rank; ++d) choices.push_back(Sbp::Split(d));
  std::vector<NdSbp> layouts = {NdSbp()};
  for (int axis = 0; axis < axes; ++axis) {
    std::vector<NdSbp> longer;
    for (const NdSbp& layout : layouts) {
      for (Sbp choice : choices) {
        longer.push_back(layout);
        longer.back().push_back(choice);
      }
    }
    layouts = std::move(longer);
  }
  return layouts;
}

// Who owns element `index` of a dimension, by dealing axis after axis.
bool Owns(int64_t size, int dim, const NdSbp& sbp, const Mesh& mesh, const std::vector<int64_t>& at, int64_t index) {
  Range range{0, size};
  for (int axis = 0; axis < sbp.size(); ++axis) {
    if (sbp[axis].is_split(dim)) range = DealtParts(range, mesh.size(axis))[at[axis]];
  }
  return range.begin <= index && index < range.end;
}

void CheckLayout(const Shape& shape, const NdSbp& sbp, const Mesh& mesh) {
  bool smallest_is_empty = false, equal = true;
  Shape largest(shape.size(), 0);
  std::vector<Shape> sizes;
  for (int64_t p = 0; p < mesh.num_devices(); ++p) {
    const std::vector<int64_t> at = mesh.Coordinates(p);
    const std::vector<Range> slice = LocalSlice(shape, sbp, mesh, at);
    Shape local;
    for (size_t d = 0; d < shape.size(); ++d) {
      for (int64_t i = 0; i < shape[d]; ++i) {
        EXPECT_EQ(slice[d].begin <= i && i < slice[d].end, Owns(shape[d], static_cast<int>(d), sbp, mesh, at, i));
      }
      local.push_back(slice[d].size());
      largest[d] = std::max(largest[d], slice[d].size());
      smallest_is_empty |= slice[d].size() == 0;
    }
    equal &= sizes.empty() || sizes[0] == local;
    sizes.push_back(local);
  }
  EXPECT_EQ(LocalShape(shape, sbp, mesh), largest);
  bool two_kinds = false;
  for (Sbp a : sbp) {
    for (Sbp b : sbp) two_kinds |= a.is_partial() && b.is_partial() && a != b;
  }
  EXPECT_EQ(ValidateLayout(shape, sbp, mesh).ok(), !smallest_is_empty && !two_kinds) << ToString(sbp);
  // Equal sizes on all ranks are equal splits on each axis, and the other way round.
  EXPECT_EQ(ValidateLayout(shape, sbp, mesh, true).ok(), !smallest_is_empty && !two_kinds && equal) << ToString(sbp);
}

TEST(Layout, EqualsBruteForceOwnership) {
  for (const char* text : {"2", "3", "4", "2,2", "2,3", "3,2", "2,2,2", "1,2"}) {
    const Mesh mesh = *ParseMesh(text);
    for (const Shape& shape : std::vector<Shape>{{}, {1}, {5}, {8}, {4, 6}, {7, 3}}) {
      for (const NdSbp& sbp : AllLayouts(static_cast<int>(shape.size()), mesh.num_axes()))
        CheckLayout(shape, sbp, mesh);
    }
  }
}

TEST(Layout, SaysWhatIsWrong) {
  const Mesh mesh = *ParseMesh("data=2,model=4");
  const auto message = [&](const Shape& shape, const char* sbp, bool even) {
    return ValidateLayout(shape, *ParseNdSbp(sbp), mesh, even).message();
  };
  EXPECT_EQ(message({8, 3}, "(B, S(1))", false),
            "layout (B, S(1)): on axis \"model\", dimension 1 of size 3 is too short for 4 parts");
  EXPECT_EQ(message({0}, "(S(0), B)", false),
            "layout (S(0), B): on axis \"data\", dimension 0 of size 0 is too short for 2 parts");
  EXPECT_EQ(message({8}, "(S(1), B)", false), "layout (S(1), B): on axis \"data\", S(1) of a tensor of 1 dimensions");
  EXPECT_EQ(message({10}, "(S(0), S(0))", true),
            "layout (S(0), S(0)): on axis \"model\", dimension 0 of size 5 does not split evenly into 4 parts");
  EXPECT_EQ(message({8}, "B", false), "layout B has 1 entries for a mesh of 2 axes");
  EXPECT_EQ(
      message({8}, "(P(sum), P(max))", false),
      "layout (P(sum), P(max)): on axis \"model\", P(max) beside P(sum): one tensor cannot be partial of two kinds");
}

TEST(DimsMapping, ConvertsBothWays) {
  for (int axes = 1; axes <= 3; ++axes) {
    for (const NdSbp& sbp : AllLayouts(3, axes)) {
      const DimsMapping mapping = ToDimsMapping(sbp, 3);
      EXPECT_EQ(*FromDimsMapping(mapping, axes), sbp);
      EXPECT_EQ(*ParseDimsMapping(ToString(mapping)), mapping) << ToString(mapping);
      for (Notation notation : {Notation::kSbp, Notation::kDimsMapping}) {
        EXPECT_EQ(*ParseLayout(FormatLayout(sbp, 3, notation), axes), sbp);
      }
    }
  }
}

TEST(DimsMapping, ReadsAndPrints) {
  const struct {
    const char* text;
    const char* printed;
  } kRows[] = {{"[0,-1]", "[0,-1]"},
               {"[ 0 , -1 ] partial = [ 1 ]", "[0,-1] partial=[1:sum]"},
               {"[[0,1],-1]", "[[0,1],-1]"},
               {"[[0],[]]", "[0,-1]"},
               {"[-1] partial=[1:max,0:max]", "[-1] partial=[0:max,1:max]"},
               {"[]", "[]"},
               {"[0", ""},
               {"0", ""},
               {"[-2]", ""},
               {"[8]", ""},
               {"[0] partial", ""},
               {"[0] partial=[1:avg]", ""},
               {"[0] x", ""},
               {"[[-1]]", ""}};
  for (const auto& row : kRows) {
    const Result<DimsMapping> mapping = ParseDimsMapping(row.text);
    EXPECT_EQ(mapping.ok() ? ToString(*mapping) : "", row.printed) << row.text;
  }
  EXPECT_FALSE(ParseLayout("[0,0]", 2).ok());
  EXPECT_FALSE(ParseLayout("[0] partial=[0]", 2).ok());
  EXPECT_FALSE(ParseLayout("[2]", 2).ok());
  EXPECT_EQ(FromDimsMapping({{{0}, {2}}, {}}, 2).status().message(),
            "dims mapping [0,2]: mesh axis 2 of a mesh of 2 axes");
}

}  // namespace
}  // namespace sbp
