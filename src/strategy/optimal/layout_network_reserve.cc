// Memory that a network does not count by itself, reserved.
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "search/cost_network.h"
#include "strategy/optimal/layout_network.h"

namespace sbp {

void LayoutNetwork::Reserve(std::span<const int64_t> bytes) {
  if (!first_reserved_) {
    first_reserved_ = network_.nodes.size();
    free_row_ = network_.costs.AddDistinct(std::array<int64_t, 1>{0});
    if (!network_.integral) network_.fractions.resize(network_.costs.size(), {0.0});
  }
  network_.nodes.resize(*first_reserved_);
  const bool placed = !network_.places.empty();
  if (placed) network_.places.resize(*first_reserved_);
  for (size_t begin = 0; begin < bytes.size();) {
    size_t end = begin + 1;
    while (end < bytes.size() && bytes[end] == bytes[begin]) ++end;
    if (bytes[begin] > 0) {
      network_.nodes.push_back({.costs = free_row_,
                                .usages = network_.usages.Add(std::array<int64_t, 1>{bytes[begin]}),
                                .begin = static_cast<int64_t>(begin),
                                .end = static_cast<int64_t>(end)});
      if (placed) network_.places.push_back(static_cast<int32_t>(begin));
    }
    begin = end;
  }
}

std::vector<int32_t> LayoutNetwork::AsReserved(std::vector<int32_t> choice) const {
  choice.resize(first_reserved_.value_or(network_.nodes.size()));
  choice.resize(network_.nodes.size(), 0);
  return choice;
}

std::vector<int64_t> LayoutNetwork::HeldBy(std::span<const int32_t> choice) const {
  std::vector<int64_t> held(lists_.num_ops() + 2, 0);
  for (size_t i = 0; i < first_reserved_.value_or(network_.nodes.size()); ++i) {
    const CostNetwork::Node& node = network_.nodes[i];
    if (node.usages < 0) continue;
    const int64_t bytes = network_.usages[node.usages][choice[i]];
    held[node.begin] += bytes;
    held[node.end] -= bytes;
  }
  for (size_t time = 1; time < held.size(); ++time) held[time] += held[time - 1];
  held.pop_back();
  return held;
}

}  // namespace sbp
