// Equal layers folded into one: costs and bounds carry over.
#include "search/folded_core.h"

#include <gtest/gtest.h>

#include <algorithm>

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
  for (int i = 0; i < kLayerNodes * kLayerNodes; ++i) inside.push_back(core.matrices().Add(SomeMatrix(random)));
  for (int i = 0; i < kLayerNodes; ++i) onward.push_back(core.matrices().Add(SomeMatrix(random)));
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
  const std::optional<FoldedCore> fold = Fold(whole, Twins::kNone);
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
    const std::optional<FoldedCore> fold = Fold(whole, Twins::kNone);
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

// As EqualLayers; the nodes of layer l hold memory over steps [l, l + 2), the first ones until the end.
Core LayersWithMemory(int32_t layers, uint64_t seed, double limit) {
  Core core = EqualLayers(layers, seed);
  for (int32_t node = 0; node < core.size(); ++node) {
    const int32_t layer = node / kLayerNodes;
    const int32_t end = node % kLayerNodes == 0 ? layers : std::min(layers, layer + 2);
    const int32_t begin = node % kLayerNodes == 0 ? 0 : layer;
    core.nodes[node].holds = {{begin, end, {0, 3, 1, 7}}};
  }
  core.limits.assign(layers, limit);
  core.times.assign(layers, 0);
  return core;
}

TEST(FoldedCore, ChoicesExceedTheSame) {
  const Core whole = LayersWithMemory(300, 1, 700);
  for (const Twins twins : {Twins::kNone, Twins::kForEdgesWithin}) {
    const std::optional<FoldedCore> fold = Fold(whole, twins);
    ASSERT_TRUE(fold);
    EXPECT_LT(fold->core.steps(), whole.steps() / 10);
    Random random(2);
    int fit = 0, exceed = 0;
    for (int trial = 0; trial < 500; ++trial) {
      std::vector<int32_t> choice;
      for (size_t node = 0; node < fold->twin_of.size(); ++node) {
        const int32_t candidate = random.Below(8) < 6 ? 0 : random.Below(kCandidates);
        const bool is_twin = fold->twin_of[node] < static_cast<int32_t>(node);
        choice.push_back(is_twin ? choice[fold->twin_of[node]] : candidate);
      }
      const bool fits = ExcessOf(fold->core, UsageOf(fold->core, choice)) == 0;
      EXPECT_EQ(fits, ExcessOf(whole, UsageOf(whole, fold->Unfold(choice))) == 0);
      (fits ? fit : exceed) += 1;
    }
    EXPECT_GT(fit, 10);
    EXPECT_GT(exceed, 10);
  }
}

// With twins the dual of the folded core is one of the whole: nothing of its bound is lost but what rounding takes.
TEST(FoldedCore, ItsBoundIsTheWholesWithTwins) {
  for (const bool memory : {false, true}) {
    const Core whole = memory ? LayersWithMemory(300, 3, 700) : EqualLayers(300, 3);
    const std::optional<FoldedCore> fold = Fold(whole, Twins::kForEdgesWithin);
    ASSERT_TRUE(fold);
    LaneSearch folded(fold->core, {.effort = 0.2, .threads = 1, .settles = memory, .only_dual = true});
    folded.Run();
    folded.TightenForced();
    LaneSearch begun(whole, {.effort = 0.2, .threads = 1});
    begun.Begin(folded, *fold);
    const double lost = 2.0 * kCandidates * static_cast<double>(whole.edges.size() + whole.nodes.size());
    EXPECT_GE(begun.bound(), folded.dual().bound() - lost) << "memory " << memory;
    EXPECT_GT(begun.bound(), LaneSearch(whole, {.threads = 1}).bound() + lost);
  }
}

TEST(FoldedCore, OnlyWhatIsLargeAndAlike) {
  EXPECT_FALSE(Fold(EqualLayers(20, 1), Twins::kNone));
  Core unlike = EqualLayers(300, 1);
  for (int32_t node = 0; node < unlike.size(); ++node) unlike.nodes[node].costs[0] = node;
  EXPECT_FALSE(Fold(unlike, Twins::kNone));
}

}  // namespace
}  // namespace sbp
