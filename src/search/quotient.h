// Nodes that are to choose alike, as one: the quotient of a CostNetwork by parts. A choice of the quotient is a choice
// of the whole at the same cost and of the same peak; the best one is the best of those in which each part chooses
// alike. Bounds of the quotient hold for such choices only. Time steps at which equally many members of each part hold
// are one step of the quotient (folded_time.h), so that it does not grow with the number of equal layers.
//
// The last nodes of the whole may have no part: they have one candidate and no edges, and stand for memory that is
// taken whatever is chosen. They, and the limit, may change (HoldAs), which is a fraction of the work of a quotient.
#pragma once

#include <cstddef>
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
// node that has a part; nodes of different kinds never share one. None where so few are alike that the quotient would
// be hardly smaller than the whole. Time: edges times depth.
std::optional<NodeParts> PartsOf(const CostNetwork& network, std::span<const int32_t> kinds, int most_depth);

class Quotient {
 public:
  // Nodes of one part have the same number of candidates. Error: as CostNetworkBuilder::Build.
  static Result<Quotient> Of(const CostNetwork& whole, const NodeParts& parts);

  // The same parts of a network that differs in its limit and in the nodes without a part only.
  void HoldAs(const CostNetwork& whole);

  // The first nodes are the parts, in order; the others hold what is taken whatever is chosen.
  const CostNetwork& network() const { return network_; }
  std::vector<int32_t> Expand(std::span<const int32_t> choice) const;  // a choice of the whole
  // What most members of each part choose (the lowest such candidate).
  std::vector<int32_t> Contract(std::span<const int32_t> choice) const;

 private:
  int32_t NothingRow();

  CostNetwork network_;
  NodeParts parts_;
  size_t whole_size_ = 0;  // nodes of the whole, those without a part too
  int32_t nothing_ = -1;   // NothingRow's, once there is one
};

}  // namespace sbp
