// Quotients: what a choice costs and holds there is what its expansion costs and holds in the whole.
#include "search/quotient.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <numeric>

#include "search/random.h"
#include "search/solve.h"
#include "unit/search/small_networks.h"

namespace sbp {
namespace {

// `copies` of one small network, each node linked to its like in the next copy; copy c holds its memory `shift` steps
// later than the one before.
CostNetwork Copies(const CostNetwork& one, int copies, int64_t shift) {
  CostNetwork network = one;
  network.nodes.clear();
  network.edges.clear();
  const auto size = static_cast<int32_t>(one.nodes.size());
  for (int copy = 0; copy < copies; ++copy) {
    const int32_t first = copy * size;
    for (CostNetwork::Node node : one.nodes) {
      node.begin += copy * shift;
      node.end += copy * shift;
      network.nodes.push_back(node);
    }
    for (CostNetwork::Edge edge : one.edges) {
      for (int32_t& node : edge.nodes) node += first;
      network.edges.push_back(edge);
    }
  }
  for (int32_t v = 0; v < size * (copies - 1); ++v) {
    const int32_t node = v % size, k = one.candidates(node);
    std::vector<int64_t> row(static_cast<size_t>(k) * k);
    for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<int64_t>((7 * i + 3) % 11);
    network.edges.push_back({{v, v + size}, network.costs.Add(row)});
  }
  return network;
}

std::vector<int32_t> SomeChoice(const CostNetwork& network, Random& random) {
  std::vector<int32_t> choice;
  for (int v = 0; v < static_cast<int>(network.nodes.size()); ++v) {
    choice.push_back(static_cast<int32_t>(random.Below(network.candidates(v))));
  }
  return choice;
}

NodeParts ByPosition(const CostNetwork& one, int copies) {
  NodeParts parts;
  parts.count = static_cast<int32_t>(one.nodes.size());
  for (int32_t v = 0; v < parts.count * copies; ++v) parts.of_node.push_back(v % parts.count);
  return parts;
}

TEST(Quotient, CostsAndHoldsAsTheWholeDoes) {
  constexpr int kCopies = 5;
  int compared = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const CostNetwork one = SmallNetwork(seed, {.forms = 0.3});
    const CostNetwork whole = Copies(one, kCopies, static_cast<int64_t>(seed % 4));
    const Result<Quotient> quotient = Quotient::Of(whole, ByPosition(one, kCopies));
    ASSERT_TRUE(quotient.ok()) << quotient.status().message();
    Random random(seed);
    for (int i = 0; i < 20; ++i) {
      // A choice of the parts; what follows them is as Contract says.
      const std::vector<int32_t> alike = SomeChoice(one, random);
      std::vector<int32_t> spread;
      for (int copy = 0; copy < kCopies; ++copy) spread.insert(spread.end(), alike.begin(), alike.end());
      const std::vector<int32_t> choice = quotient->Contract(spread);
      EXPECT_EQ(quotient->Expand(choice), spread);
      const Evaluation of_quotient = Evaluate(quotient->network(), choice);
      const Evaluation of_whole = Evaluate(whole, spread);
      EXPECT_EQ(of_quotient.forbidden, of_whole.forbidden) << "seed " << seed;
      EXPECT_EQ(of_quotient.peak, of_whole.peak) << "seed " << seed;
      EXPECT_EQ(of_quotient.feasible, of_whole.feasible) << "seed " << seed;
      if (of_whole.forbidden) continue;
      EXPECT_EQ(of_quotient.cost, of_whole.cost) << "seed " << seed;
      ++compared;
    }
  }
  EXPECT_GT(compared, 100);
}

// Bytes that are taken whatever is chosen, and the limit, may change: as if the quotient were made then.
TEST(Quotient, HoldsAsIfMadeAnew) {
  constexpr int kCopies = 4;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const CostNetwork one = SmallNetwork(seed, {});
    CostNetwork whole = Copies(one, kCopies, 2);
    Result<Quotient> quotient = Quotient::Of(whole, ByPosition(one, kCopies));
    ASSERT_TRUE(quotient.ok());
    const int32_t free = whole.costs.AddDistinct(std::vector<int64_t>{0});
    for (const int64_t begin : {1, 5}) {
      const int32_t taken = whole.usages.Add(std::vector<int64_t>{3 + begin});
      whole.nodes.push_back({.costs = free, .usages = taken, .begin = begin, .end = begin + 3});
    }
    whole.usage_limit = 17;
    quotient->HoldAs(whole);
    const Result<Quotient> anew = Quotient::Of(whole, ByPosition(one, kCopies));
    ASSERT_TRUE(anew.ok());
    Random random(seed);
    for (int i = 0; i < 10; ++i) {
      const std::vector<int32_t> spread = quotient->Expand(quotient->Contract(SomeChoice(whole, random)));
      const Evaluation of_whole = Evaluate(whole, spread);
      for (const Quotient* of : std::initializer_list<const Quotient*>{&*quotient, &*anew}) {
        const Evaluation evaluation = Evaluate(of->network(), of->Contract(spread));
        EXPECT_EQ(evaluation.peak, of_whole.peak) << "seed " << seed;
        EXPECT_EQ(evaluation.feasible, of_whole.feasible) << "seed " << seed;
        EXPECT_EQ(evaluation.forbidden, of_whole.forbidden) << "seed " << seed;
      }
    }
  }
}

// Of all choices that treat copies alike the search of the quotient finds the best.
TEST(Quotient, BestChoiceIsTheBestOfTheAlike) {
  constexpr int kCopies = 3;
  int compared = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const CostNetwork one = SmallNetwork(seed, {.most_nodes = 4, .most_candidates = 3});
    const CostNetwork whole = Copies(one, kCopies, 1);
    const Result<Quotient> quotient = Quotient::Of(whole, ByPosition(one, kCopies));
    ASSERT_TRUE(quotient.ok());
    std::optional<int64_t> least;
    std::vector<int32_t> alike(one.nodes.size(), 0);
    for (bool more = true; more;) {
      std::vector<int32_t> spread;
      for (int copy = 0; copy < kCopies; ++copy) spread.insert(spread.end(), alike.begin(), alike.end());
      const Evaluation evaluation = Evaluate(whole, spread);
      if (evaluation.feasible && (!least || evaluation.cost < *least)) least = evaluation.cost;
      more = false;
      for (size_t v = 0; v < alike.size() && !more; ++v) {
        more = ++alike[v] < one.candidates(static_cast<int>(v));
        if (!more) alike[v] = 0;
      }
    }
    if (!least) continue;
    const SolveResult solved = Solve(quotient->network(), {.effort = 1, .threads = 1});
    ASSERT_TRUE(solved.evaluation.feasible) << "seed " << seed;
    EXPECT_EQ(Evaluate(whole, quotient->Expand(solved.choice)).cost, *least) << "seed " << seed;
    ++compared;
  }
  EXPECT_GT(compared, 20);
}

TEST(PartsOf, CopiesAreAlikeButForTheEnds) {
  // Not all seeds: a small network may have parts that look alike within one copy.
  constexpr int kCopies = 30;
  const CostNetwork one = SmallNetwork(3, {});
  const CostNetwork whole = Copies(one, kCopies, 1);
  std::vector<int32_t> kinds(whole.nodes.size());
  for (size_t v = 0; v < kinds.size(); ++v) kinds[v] = static_cast<int32_t>(v % one.nodes.size());
  const std::optional<NodeParts> parts = PartsOf(whole, kinds, 6);
  ASSERT_TRUE(parts);
  EXPECT_LE(parts->count, static_cast<int32_t>(one.nodes.size()) * (2 * 6 + 1));
  const size_t size = one.nodes.size();
  for (size_t v = 0; v < size; ++v) EXPECT_EQ(parts->of_node[14 * size + v], parts->of_node[15 * size + v]);
  // Kinds keep apart what looks alike.
  for (size_t v = 0; v < kinds.size(); ++v) kinds[v] = static_cast<int32_t>(v);
  EXPECT_FALSE(PartsOf(whole, kinds, 6));
}

}  // namespace
}  // namespace sbp
