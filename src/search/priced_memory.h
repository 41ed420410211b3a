// Memory as a price in the place of a limit: the core as its dual sees it, for a search that may pass through choices
// that exceed the limit. Between choices that fit, all others may exceed it, so that a search under the limit stays
// where it is.
#pragma once

#include <span>
#include <vector>

#include "search/core.h"

namespace sbp {

// While it lives, the nodes of `core` hold nothing: what they held is part of their costs, rounded down, at `prices`
// (per step, >= 0). Edges and candidates stay, so that a choice is one of the core as it was.
class PricedMemory {
 public:
  PricedMemory(Core& core, std::span<const double> prices);
  ~PricedMemory();
  PricedMemory(const PricedMemory&) = delete;
  PricedMemory& operator=(const PricedMemory&) = delete;

 private:
  Core& core_;
  std::vector<Core::Node> nodes_;  // as they were
  std::vector<double> limits_;
};

}  // namespace sbp
