// Uniform plans: ops that play the same part in repeated layers choose alike, and so do the layers' parameters and the
// tensors between them. What plays the same part is found from the network (search/quotient.h), so that names do not
// matter. The search for the best uniform plan is one of the quotient, whose size does not grow with depth.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "search/quotient.h"
#include "search/reduce.h"
#include "search/solve.h"
#include "strategy/optimal/layout_network.h"

namespace sbp {

class UniformSearch {
 public:
  // The network outlives this. What it reserves, and its limit, may change from one search to the next.
  explicit UniformSearch(const LayoutNetwork& network);

  // The best uniform choice found, as one of the whole network; its bounds say nothing of other choices and are 0.
  // Begins with what most members of each part choose in one of `starts` (choices of the whole, or empty), whichever is
  // best so. None where too little repeats.
  std::optional<SolveResult> Solve(std::span<const std::vector<int32_t>> starts, const SolveOptions& options);

 private:
  const LayoutNetwork& network_;
  std::optional<Quotient> quotient_;
  ReductionMemory memory_;
};

}  // namespace sbp
