// Every path is carried out on arrays and compared with the target layout; its price with a slow search.
#include <gtest/gtest.h>

#include <chrono>
#include <limits>

#include "base/text.h"
#include "boxing/boxing.h"
#include "unit/boxing/simulate.h"

namespace sbp {
namespace {

std::vector<NdSbp> ValidLayouts(const Shape& shape, const Mesh& mesh, const std::vector<ReduceKind>& kinds) {
  std::vector<Sbp> choices = {Sbp::Broadcast()};
  for (ReduceKind kind : kinds) choices.push_back(Sbp::Partial(kind));
  for (size_t d = 0; d < shape.size(); ++d) choices.push_back(Sbp::Split(static_cast<int>(d)));
  std::vector<NdSbp> layouts = {NdSbp()};
  for (int axis = 0; axis < mesh.num_axes(); ++axis) {
    std::vector<NdSbp> longer;
    for (const NdSbp& layout : layouts) {
      for (Sbp choice : choices) {
        longer.push_back(layout);
        longer.back().push_back(choice);
      }
    }
    layouts = std::move(longer);
  }
  std::erase_if(layouts, [&](const NdSbp& sbp) { return !ValidateLayout(shape, sbp, mesh).ok(); });
  return layouts;
}

std::string Trace(const BoxingPath& path) {
  std::string text;
  for (const BoxingStep& step : path.steps) {
    text += StrCat(ToString(step.from), " ", CollectiveKindName(step.kind), " on ", step.axis, "; ");
  }
  return text;
}

void CheckPath(BoxingTable& table, const TensorType& type, const NdSbp& from, const NdSbp& to, std::mt19937& random) {
  const Mesh& mesh = table.mesh();
  const BoxingPath& path = table.Path(type, from, to);
  ASSERT_TRUE(path.reachable) << ToString(from) << " to " << ToString(to);
  const Block whole = WholeTensor(type.shape, random);
  std::vector<Block> blocks = Distribute(whole, type.shape, from, mesh, random);
  NdSbp layout = from;
  for (const BoxingStep& step : path.steps) {
    ASSERT_EQ(step.from, layout);
    ASSERT_EQ(Execute(step, mesh, blocks), "") << Trace(path);
    ASSERT_EQ(Compare(blocks, whole, type.shape, step.to, mesh), "") << ToString(step.to) << " after " << Trace(path);
    layout = step.to;
  }
  ASSERT_EQ(layout, to);
  const BoxingPrice price = table.Price(type, from, to);
  double local = 0;
  bool is_local = true;
  for (const BoxingStep& step : path.steps) {
    const bool stays = RowOf(step.kind).local || mesh.size(step.axis) == 1;
    local += stays ? step.seconds : 0;
    is_local = is_local && stays;
  }
  ASSERT_TRUE(price.reachable);
  ASSERT_EQ(price.seconds, path.seconds) << Trace(path);
  ASSERT_EQ(price.local_seconds, local) << Trace(path);
  ASSERT_EQ(price.local, is_local) << Trace(path);
}

// Searched only so far: the same seconds, or a number above the limit that is no more than they are.
TEST(BoxingPrice, SecondsUpToALimit) {
  const TensorType type{DType::kF32, {8, 16, 64}};
  const Mesh mesh = *ParseMesh("2,2,2");
  const Cluster cluster = *FindPreset("2x8xH100");
  BoxingTable whole(mesh, cluster);
  for (const char* from_text : {"(S0,S1,B)", "(P,B,S1)", "(B,B,B)"}) {
    const NdSbp from = *ParseNdSbp(from_text);
    for (const char* to_text : {"(S0,S1,B)", "(S1,S0,B)", "(S2,S2,S2)", "(B,P,S0)", "(P,P,P)", "(B,B,B)"}) {
      const NdSbp to = *ParseNdSbp(to_text);
      const double seconds = whole.Price(type, from, to).seconds;
      for (const double share : {0.0, 0.3, 0.9, 1.0, 2.0}) {
        BoxingTable table(mesh, cluster);
        const double found = table.SecondsUpTo(type, from, to, share * seconds);
        if (share >= 1 || from == to) {
          EXPECT_EQ(found, seconds) << from_text << " to " << to_text;
        } else {
          EXPECT_GT(found, share * seconds) << from_text << " to " << to_text;
          EXPECT_LE(found, seconds) << from_text << " to " << to_text;
        }
        EXPECT_EQ(table.SecondsUpTo(type, from, to, seconds), seconds) << from_text << " to " << to_text;
      }
    }
  }
  BoxingTable table(mesh, cluster);
  EXPECT_EQ(table.SecondsUpTo(type, NdSbp(3), *ParseNdSbp("(S3,B,B)"), 1), std::numeric_limits<double>::infinity());
}

// An end that no tensor of the type has is not reached, by price as by path; nor before a search is asked for.
TEST(BoxingPrice, OfWhatIsNotReached) {
  const TensorType type{DType::kF32, {1, 8}};
  BoxingTable table(*ParseMesh("2,2"), *FindPreset("8xH100"));
  for (const char* to : {"(S0,B)", "(S2,B)", "(P,P(max))"}) {
    const NdSbp layout = *ParseNdSbp(to);
    EXPECT_FALSE(table.Price(type, NdSbp(2), layout).reachable) << to;
    EXPECT_EQ(table.Price(type, NdSbp(2), layout).seconds, std::numeric_limits<double>::infinity()) << to;
    EXPECT_FALSE(table.Path(type, NdSbp(2), layout).reachable) << to;
  }
}

TEST(BoxingPath, ArraysEndInTheTargetLayout) {
  const struct {
    const char* mesh;
    std::vector<Shape> shapes;
    std::vector<ReduceKind> kinds;
  } kRows[] = {
      {"2", {{}, {2}, {5, 3}, {4, 6, 3}}, {ReduceKind::kSum, ReduceKind::kMax, ReduceKind::kMin, ReduceKind::kProd}},
      {"3", {{3}, {5, 4}, {7, 3, 6}}, {ReduceKind::kSum, ReduceKind::kMax}},
      {"4", {{4}, {7, 9}, {8, 8}}, {ReduceKind::kSum, ReduceKind::kMin}},
      {"2,2", {{5, 4}, {7, 9}, {6, 4}, {3, 5, 4}}, {ReduceKind::kSum, ReduceKind::kMax}},
      {"2,3", {{6, 7}, {11, 5}, {3, 4, 7}}, {ReduceKind::kSum, ReduceKind::kMax}},
      {"3,2", {{7, 8}, {3, 5}}, {ReduceKind::kSum, ReduceKind::kProd}},
      {"2,1", {{3, 2}}, {ReduceKind::kSum}},
      {"2,2,2", {{9, 3}}, {ReduceKind::kSum}},
  };
  std::mt19937 random(1);
  size_t pairs = 0;
  for (const auto& row : kRows) {
    const Mesh mesh = *ParseMesh(row.mesh);
    BoxingTable table(mesh, *FindPreset("8xH100"));
    for (const Shape& shape : row.shapes) {
      const TensorType type{DType::kF32, shape};
      const std::vector<NdSbp> layouts = ValidLayouts(shape, mesh, row.kinds);
      for (const NdSbp& from : layouts) {
        for (const NdSbp& to : layouts) {
          CheckPath(table, type, from, to, random);
          if (::testing::Test::HasFatalFailure()) return;
          ++pairs;
        }
      }
    }
  }
  EXPECT_GT(pairs, 5000u);
}

// Bellman-Ford over all layouts with prices from the definitions.
double CheapestSeconds(const BoxingTable& table, const TensorType& type, const std::vector<NdSbp>& layouts,
                       const NdSbp& from, const NdSbp& to) {
  const Mesh& mesh = table.mesh();
  std::vector<double> best(layouts.size(), std::numeric_limits<double>::infinity());
  for (size_t i = 0; i < layouts.size(); ++i) {
    if (layouts[i] == from) best[i] = 0;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < layouts.size(); ++i) {
      for (size_t j = 0; j < layouts.size(); ++j) {
        int axis = -1, differ = 0;
        for (int a = 0; a < mesh.num_axes(); ++a) {
          if (layouts[i][a] == layouts[j][a]) continue;
          axis = a;
          ++differ;
        }
        if (differ != 1) continue;
        if (layouts[j][axis].is_partial() && layouts[j][axis] != to[axis]) continue;
        for (const CollectiveRow& row : AllCollectives()) {
          if (!row.legal(layouts[i], layouts[j], axis)) continue;
          NdSbp group = layouts[i];
          group[axis] = Sbp::Broadcast();
          const double bytes =
              static_cast<double>(TensorType{type.dtype, LocalShape(type.shape, group, mesh)}.num_bytes());
          const double price =
              best[i] + CollectiveTime(table.cluster(), row.kind, mesh.size(axis), table.axis_group(axis), bytes);
          if (price < best[j]) {
            best[j] = price;
            changed = true;
          }
        }
      }
    }
  }
  for (size_t i = 0; i < layouts.size(); ++i) {
    if (layouts[i] == to) return best[i];
  }
  return -1;
}

TEST(BoxingPath, IsCheapest) {
  for (const char* cluster : {"8xH100", "8xA100-80G", "cpu"}) {
    for (const char* text : {"4", "2,2", "2,3"}) {
      const Mesh mesh = *ParseMesh(text);
      BoxingTable table(mesh, *FindPreset(cluster));
      for (const Shape& shape : std::vector<Shape>{{6, 7}, {4096, 8192}}) {
        const TensorType type{DType::kBF16, shape};
        const std::vector<NdSbp> layouts = ValidLayouts(shape, mesh, {ReduceKind::kSum, ReduceKind::kMax});
        for (const NdSbp& from : layouts) {
          for (const NdSbp& to : layouts) {
            const BoxingPath& path = table.Path(type, from, to);
            const double expected = CheapestSeconds(table, type, layouts, from, to);
            ASSERT_NEAR(path.seconds, expected, 1e-12 + 1e-9 * expected) << ToString(from) << " " << ToString(to);
          }
        }
      }
    }
  }
}

TEST(BoxingPath, Examples) {
  const Mesh mesh = *ParseMesh("data=2,model=4");
  BoxingTable table(mesh, *FindPreset("8xH100"));
  const TensorType large{DType::kF32, {4096, 4096}};  // 64 MiB
  const double bytes = 4096.0 * 4096 * 4;
  const BoxingPath& reduce = table.Path(large, *ParseNdSbp("(S0,P)"), *ParseNdSbp("(S0,B)"));
  ASSERT_EQ(reduce.steps.size(), 1u);
  EXPECT_EQ(reduce.steps[0].kind, CollectiveKind::kAllReduce);
  EXPECT_EQ(reduce.steps[0].axis, 1);
  EXPECT_EQ(reduce.steps[0].tensor_bytes, bytes / 2);
  EXPECT_EQ(reduce.wire_bytes, 8 * 2 * (bytes / 2) * 3 / 4);
  // Nested splits are gathered innermost first.
  EXPECT_EQ(Trace(table.Path(large, *ParseNdSbp("(S0,S0)"), *ParseNdSbp("(B,B)"))),
            "(S(0), S(0)) all-gather on 1; (S(0), B) all-gather on 0; ");
  EXPECT_TRUE(table.Path(large, *ParseNdSbp("(S0,B)"), *ParseNdSbp("(S0,B)")).steps.empty());
}

TEST(BoxingPath, InvalidLayoutsAreUnreachable) {
  BoxingTable table(*ParseMesh("4"), *FindPreset("cpu"));
  const NdSbp broadcast{Sbp::Broadcast()}, split{Sbp::Split(0)};
  EXPECT_FALSE(table.Path({DType::kF32, {3}}, broadcast, split).reachable);
  EXPECT_FALSE(table.Path({DType::kF32, {0}}, broadcast, split).reachable);
  EXPECT_FALSE(table.Path({DType::kF32, {8, kUnknownDim}}, broadcast, split).reachable);
  EXPECT_FALSE(table.Path({DType::kF32, {8}, ValueKind::kSequence}, broadcast, split).reachable);
  EXPECT_TRUE(table.Path({DType::kF32, {5}}, broadcast, split).reachable);
  EXPECT_FALSE(
      BoxingTable(*ParseMesh("4"), *FindPreset("cpu"), true).Path({DType::kF32, {5}}, broadcast, split).reachable);
}

TEST(BoxingPath, ByWireBytes) {
  const Mesh mesh = *ParseMesh("8");
  // A small tensor: gathering all is quicker than the start-up of an all-to-all, but moves more.
  const TensorType small{DType::kF32, {8, 8}};
  const NdSbp rows{Sbp::Split(0)}, columns{Sbp::Split(1)};
  BoxingTable quick(mesh, *FindPreset("8xH100"));
  BoxingTable frugal(mesh, *FindPreset("8xH100"), false, BoxingCriterion::kWireBytes);
  EXPECT_EQ(frugal.Path(small, rows, columns).steps.size(), 1u);
  EXPECT_LT(frugal.Path(small, rows, columns).wire_bytes, quick.Path(small, rows, columns).wire_bytes);
  EXPECT_GT(frugal.Path(small, rows, columns).seconds, quick.Path(small, rows, columns).seconds);
}

// More layouts than can be listed: 8 mesh axes, 20 dimensions. The path must still be right.
TEST(BoxingPath, ManyAxesAndDimensions) {
  const Mesh mesh = *ParseMesh("2,2,2,2,2,2,2,2");
  BoxingTable table(mesh, *FindPreset("16x8xH100"));
  Shape shape(20, 1);
  for (size_t d = 0; d < 10; ++d) shape[d] = 2;
  const TensorType type{DType::kF32, shape};
  NdSbp from, to;
  for (int axis = 0; axis < 8; ++axis) {
    from.push_back(Sbp::Split(axis));
    to.push_back(Sbp::Split((axis + 3) % 10));
  }
  std::mt19937 random(2);
  CheckPath(table, type, from, to, random);
  NdSbp nested(8, Sbp::Split(0)), partial(8, Sbp::Partial());
  const TensorType row{DType::kF32, {300, 3}};
  CheckPath(table, row, nested, partial, random);
  CheckPath(table, row, partial, nested, random);
}

TEST(RunBytes, OfPartsAsTheyLieInBothBuffers) {
  const Mesh mesh = *ParseMesh("2,3");
  const TensorType type{DType::kF32, {4, 12, 5}};
  const struct {
    const char *from, *to;
    int axis;
    double bytes;
  } kRows[] = {
      {"(S(0), B)", "(B, B)", 0, 0},          // whole rows
      {"(S(1), B)", "(B, B)", 0, 6 * 5 * 4},  // half rows
      {"(P, B)", "(S(1), B)", 0, 6 * 5 * 4},
      {"(B, S(2))", "(B, B)", 1, 2 * 4},  // uneven: the larger part
      {"(P, B)", "(B, B)", 0, 0},
      {"(S(0), B)", "(S(1), B)", 0, 6 * 5 * 4},
      {"(S(1), B)", "(S(2), B)", 0, 3 * 4},         // the shorter of both
      {"(S(0), S(1))", "(S(0), B)", 1, 4 * 5 * 4},  // of two rows
      {"(S(1), S(1))", "(S(1), B)", 1, 2 * 5 * 4},  // of six of twelve
      {"(S(2), S(1))", "(S(2), B)", 1, 4 * 3 * 4},  // the other axis cuts the rows
  };
  for (const auto& row : kRows) {
    EXPECT_EQ(RunBytes(type, *ParseNdSbp(row.from), *ParseNdSbp(row.to), mesh, row.axis), row.bytes)
        << row.from << " -> " << row.to;
  }
  EXPECT_EQ(RunBytes({DType::kF32, {1, 8}}, *ParseNdSbp("S(1)"), *ParseNdSbp("B"), *ParseMesh("2"), 0), 0);
}

}  // namespace
}  // namespace sbp
