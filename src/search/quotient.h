// Nodes that are to choose alike, as one: the quotient of a CostNetwork by parts. A choice of the quotient is a choice
// of the whole at the same cost and of the same peak; the best one is the best of those in which each part chooses
// alike. Bounds of the quotient hold for such choices only. Time steps at which equally many members of each part hold
// are one step of the quotient (folded_time.h), so that it does not grow with the number of equal layers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "search/cost_network.h"

namespace sbp {

// Which nodes play the same part.
struct NodeParts {
  std::vector<int32_t> of_node;  // from 0, in order of the first node of each
  int32_t count = 0;
};

// Nodes play the same part that have the same kind, costs and usages, and whose neighbours look alike as far as some
// edges around them: 3 at least, and then as many as leave 3 nodes a part on average, up to `most_depth`. `kinds`: per
// node; nodes of different kinds never share a part. None where so few are alike that the quotient would be hardly
// smaller than the whole. Time: edges times depth.
std::optional<NodeParts> PartsOf(const CostNetwork& network, std::span<const int32_t> kinds, int most_depth);

class Quotient {
 public:
  // Nodes of one part have the same number of candidates. Error: as CostNetworkBuilder::Build.
  static Result<Quotient> Of(const CostNetwork& whole, const NodeParts& parts);

  // The first nodes are the parts, in order; the others hold what a part holds at further times, and follow it.
  const CostNetwork& network() const { return network_; }
  std::vector<int32_t> Expand(std::span<const int32_t> choice) const;  // a choice of the whole
  // What most members of each part choose (the lowest such candidate).
  std::vector<int32_t> Contract(std::span<const int32_t> choice) const;

 private:
  CostNetwork network_;
  NodeParts parts_;
  std::vector<int32_t> part_of_holder_;  // of the nodes after the parts
};

}  // namespace sbp
