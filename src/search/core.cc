#include "search/core.h"

#include <algorithm>

namespace sbp {

void MakeLinks(Core& core) {
  core.links.resize(core.nodes.size());
  for (int32_t i = 0; i < static_cast<int32_t>(core.edges.size()); ++i) {
    const int32_t a = core.edges[i].nodes[0];
    const int32_t b = core.edges[i].nodes[1];
    const Matrix* by_a = &core.matrices()[core.edges[i].matrix];
    const Matrix* by_b = &core.matrices()[core.matrices().Transpose(core.edges[i].matrix)];
    core.nodes[a].edges.push_back(i);
    core.nodes[b].edges.push_back(i);
    core.links[a].push_back({b, i, by_b, by_a});
    core.links[b].push_back({a, i, by_a, by_b});
  }
}

double CostOf(const Core& core, std::span<const int32_t> choice) {
  double cost = core.constant;
  for (int32_t node = 0; node < core.size(); ++node) cost += core.nodes[node].costs[choice[node]];
  for (const Core::Edge& edge : core.edges) {
    cost += core.matrices()[edge.matrix].at(choice[edge.nodes[0]], choice[edge.nodes[1]]);
  }
  return cost;
}

std::vector<double> UsageOf(const Core& core, std::span<const int32_t> choice) {
  std::vector<double> usage(core.limits.size() + 1, 0);
  for (int32_t node = 0; node < core.size(); ++node) {
    for (const Core::Hold& hold : core.nodes[node].holds) {
      usage[hold.begin] += hold.usages[choice[node]];
      usage[hold.end] -= hold.usages[choice[node]];
    }
  }
  for (size_t step = 1; step < usage.size(); ++step) usage[step] += usage[step - 1];
  usage.pop_back();
  return usage;
}

double ExcessOf(const Core& core, std::span<const double> usage) {
  double excess = 0;
  for (size_t step = 0; step < usage.size(); ++step) excess += std::max(0.0, usage[step] - core.limits[step]);
  return excess;
}

}  // namespace sbp
