// Equal layers folded into one: costs and bounds carry over.
#include "search/folded_core.h"

#include <gtest/gtest.h>

#include "search/lane_search.h"
#include "search/random.h"

namespace sbp {
namespace {

constexpr int32_t kLayerNodes = 5;
constexpr int32_t kCandidates = 4;

Matrix SomeMatrix(Random& random) {
  std::vector<double> entries;
  for (int i = 0; i < kCandidates * kCandidates; ++i) entries.push_back(random.Below(100));
  if (random.Below(2) == 0) entries[random.Below(kCandidates * kCandidates)] = kForbidden;
  return Matrix::Plain(kCandidates, kCandidates, std::move(entries));
}

// Layers of nodes that all know each other; each node also knows its like in the next layer.
Core EqualLayers(int32_t layers, uint64_t seed) {
  Random random(seed);
  Core core;
  std::vector<std::vector<double>> costs(kLayerNodes);
  for (std::vector<double>& row : costs) {
    for (int a = 0; a < kCandidates; ++a) row.push_back(random.Below(100));
  }
  std::vector<MatrixId> inside, onward;
  for (int i = 0; i < kLayerNodes * kLayerNodes; ++i) inside.push_back(core.matrices.Add(SomeMatrix(random)));
  for (int i = 0; i < kLayerNodes; ++i) onward.push_back(core.matrices.Add(SomeMatrix(random)));
  for (int32_t layer = 0; layer < layers; ++layer) {
    const int32_t first = core.size();
    for (int32_t i = 0; i < kLayerNodes; ++i) {
      core.nodes.push_back({costs[i], {}, {}});
      for (int32_t j = 0; j < i; ++j) core.edges.push_back({{first + j, first + i}, inside[j * kLayerNodes + i]});
      if (layer > 0) core.edges.push_back({{first + i - kLayerNodes, first + i}, onward[i]});
    }
  }
  MakeLinks(core);
  return core;
}

TEST(FoldedCore, ChoicesCostTheSame) {
  const Core whole = EqualLayers(300, 1);
  const std::optional<FoldedCore> fold = Fold(whole);
  ASSERT_TRUE(fold);
  EXPECT_LT(fold->core.size(), whole.size() / 10);
  Random random(2);
  int compared = 0;
  for (int trial = 0; trial < 5000; ++trial) {
    std::vector<int32_t> choice;
    for (int32_t node = 0; node < fold->core.size(); ++node) choice.push_back(random.Below(kCandidates));
    const double cost = CostOf(whole, fold->Unfold(choice));
    if (cost == kForbidden) continue;
    ++compared;
    EXPECT_EQ(CostOf(fold->core, choice), cost);
  }
  EXPECT_GT(compared, 0);
}

TEST(FoldedCore, BoundsBegunFromItHold) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Core whole = EqualLayers(250, seed);
    const std::optional<FoldedCore> fold = Fold(whole);
    ASSERT_TRUE(fold);
    const LaneSearchOptions options{.effort = 0.2, .threads = 1};
    LaneSearch folded(fold->core, options), begun(whole, options), plain(whole, options);
    folded.Run();
    begun.Begin(folded, *fold);
    EXPECT_LE(begun.dual().bound(), folded.best().cost);
    begun.Run();
    plain.Run();
    ASSERT_TRUE(begun.best().any() && plain.best().any());
    // Whoever is right about the optimum, both are.
    EXPECT_LE(begun.bound(), plain.best().cost) << "seed " << seed;
    EXPECT_LE(plain.bound(), begun.best().cost) << "seed " << seed;
  }
}

TEST(FoldedCore, OnlyWhatIsLargeAndAlike) {
  EXPECT_FALSE(Fold(EqualLayers(20, 1)));
  Core unlike = EqualLayers(300, 1);
  for (int32_t node = 0; node < unlike.size(); ++node) unlike.nodes[node].costs[0] = node;
  EXPECT_FALSE(Fold(unlike));
  Core with_memory = EqualLayers(300, 1);
  with_memory.limits = {100};
  EXPECT_FALSE(Fold(with_memory));
}

}  // namespace
}  // namespace sbp
