#include "unit/search/small_networks.h"

#include <algorithm>

namespace sbp {
namespace {

// Adds a row of costs, as fractions where asked.
int32_t AddRow(CostNetworkBuilder& builder, const std::vector<int64_t>& costs, const SmallNetworkOptions& options) {
  if (!options.fractions) return builder.AddCosts(std::span<const int64_t>(costs));
  std::vector<double> fractions;
  for (const int64_t cost : costs) fractions.push_back(cost >= kInfiniteCost ? 1e18 : static_cast<double>(cost) / 7);
  return builder.AddCosts(std::span<const double>(fractions));
}

// The next of all choices, the first node running fastest. False: that was the last one.
template <typename Nodes>
bool NextChoice(const Nodes& nodes, std::vector<int32_t>& choice) {
  size_t node = 0;
  while (node < choice.size() && ++choice[node] == nodes.candidates(static_cast<int32_t>(node))) choice[node++] = 0;
  return node < choice.size();
}

// An edge that reads one or two lines of a small table.
CostNetwork::Edge FormedEdge(CostNetworkBuilder& builder, Random& random, int a, int b,
                             const std::vector<int>& candidates, const SmallNetworkOptions& options) {
  CostNetwork::Form form{.rows = 1 + random.Below(4), .columns = 1 + random.Below(4), .lines = {}};
  const auto lines = [&](int count, int table) {
    const auto map = [&] {
      std::vector<int32_t> line;
      for (int i = 0; i < count; ++i) line.push_back(random.Below(table));
      return builder.AddMap(line);
    };
    CostNetwork::Lines result{.first = map()};
    if (random.Below(2) == 0) result.second = map();
    return result;
  };
  form.lines[0] = lines(candidates[a], form.rows);
  form.lines[1] = lines(candidates[b], form.columns);
  std::vector<int64_t> costs;
  for (int i = 0; i < form.rows * form.columns; ++i) {
    costs.push_back(random.Unit() < options.forbidden ? kInfiniteCost : random.Below(3) * random.Below(40));
  }
  const int32_t row = AddRow(builder, costs, options);
  return {{a, b}, row, builder.AddForm(form)};
}

}  // namespace

CostNetwork SmallNetwork(uint64_t seed, const SmallNetworkOptions& options) {
  Random random(seed);
  CostNetworkBuilder builder;
  const int nodes = 1 + random.Below(options.most_nodes);
  std::vector<int> candidates;
  int64_t most_held = 0;
  for (int i = 0; i < nodes; ++i) {
    candidates.push_back(1 + random.Below(options.most_candidates));
    std::vector<int64_t> costs, usages;
    for (int a = 0; a < candidates[i]; ++a) {
      costs.push_back(random.Unit() < options.forbidden / 4 ? kInfiniteCost : random.Below(50));
      usages.push_back(random.Below(20));
    }
    CostNetwork::Node node{AddRow(builder, costs, options)};
    if (options.memory && random.Below(4) > 0) {
      node.usages = builder.AddUsages(usages);
      node.begin = random.Below(8);
      node.end = node.begin + random.Below(5);
      most_held += *std::max_element(usages.begin(), usages.end());
    }
    builder.nodes().push_back(node);
  }
  const int edges = nodes < 2 ? 0 : random.Below(static_cast<int64_t>(options.edges_per_node * nodes) + 1);
  for (int i = 0; i < edges; ++i) {
    const int a = random.Below(nodes);
    const int b = (a + 1 + random.Below(nodes - 1)) % nodes;
    if (options.forms > 0 && random.Unit() < options.forms) {
      builder.edges().push_back(FormedEdge(builder, random, a, b, candidates, options));
      continue;
    }
    const bool tie = random.Unit() < options.one_to_one;
    std::vector<int64_t> costs;
    for (int j = 0; j < candidates[a]; ++j) {
      for (int k = 0; k < candidates[b]; ++k) {
        const bool forbidden = tie ? j % candidates[b] != k : random.Unit() < options.forbidden;
        costs.push_back(forbidden ? kInfiniteCost : random.Below(3) * random.Below(40));
      }
    }
    builder.edges().push_back({{a, b}, AddRow(builder, costs, options)});
  }
  if (options.memory)
    builder.SetUsageLimit(
        static_cast<int64_t>(options.tightness * static_cast<double>(most_held) * (0.3 + 0.7 * random.Unit())));
  return std::move(builder).Build().value();
}

std::optional<int64_t> BruteForce(const CostNetwork& network) { return BruteForce(network, -1, 0); }

std::optional<int64_t> BruteForce(const CostNetwork& network, int32_t forced, int32_t candidate) {
  std::vector<int32_t> choice(network.nodes.size(), 0);
  std::optional<int64_t> best;
  while (true) {
    const Evaluation found = Evaluate(network, choice);
    const bool counts = forced < 0 || choice[forced] == candidate;
    if (counts && found.feasible && (!best || found.cost < *best)) best = found.cost;
    if (!NextChoice(network, choice)) return best;
  }
}

std::optional<int64_t> SmallestPeakByBruteForce(const CostNetwork& network) {
  std::vector<int32_t> choice(network.nodes.size(), 0);
  std::optional<int64_t> least;
  while (true) {
    const Evaluation found = Evaluate(network, choice);
    if (!found.forbidden && (!least || found.peak < *least)) least = found.peak;
    if (!NextChoice(network, choice)) return least;
  }
}

double BruteForceCore(const Core& core, std::vector<int32_t>& best) {
  std::vector<int32_t> choice(core.nodes.size(), 0);
  double least = kForbidden;
  while (true) {
    const double cost = CostOf(core, choice);
    if (cost < least && ExcessOf(core, UsageOf(core, choice)) == 0) {
      least = cost;
      best = choice;
    }
    if (!NextChoice(core, choice)) return least / core.scale;
  }
}

}  // namespace sbp
