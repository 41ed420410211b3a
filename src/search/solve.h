// The search as a whole: reductions; a first look with equal layers folded into one; then the two lanes of
// lane_search.h, one of which bounds and the other improves.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "search/cost_network.h"
#include "search/memory_prices.h"
#include "search/reduce.h"

namespace sbp {

struct SolveProgress {
  double seconds = 0;  // since the search began
  bool feasible = false;
  double cost = 0;  // in the problem's numbers; of the best choice so far
  double lower_bound = 0;
  double gap = 0;
  int64_t peak = 0;
};

struct SolveOptions {
  double seconds = 0;  // stop then, a fifth earlier if nothing feasible is found; 0: when the effort is spent
  double effort = 10;  // amount of work, about seconds of one processor; used when `seconds` is 0
  int rounds = 0;      // that it is split into at least, so that what is proved early ends early; 0: as they come
  int threads = 2;
  uint64_t seed = 0;
  double gap = 0;          // stop once (cost - bound) / cost is at most this
  double known_bound = 0;  // known from elsewhere: counts like the search's own. In the problem's numbers
  bool has_known_bound = false;
  double cutoff =
      std::numeric_limits<double>::infinity();  // what costs this much is of no use: stop once that is proved
  double enough = -std::numeric_limits<double>::infinity();  // so good is good enough: stop once something costs that
  int64_t patience = 0;  // steps of the dual without a gain to speak of, after which it stops; 0: as many as there are
  // Prices of memory by few, settled steps (search/multipliers.h): what suits networks of layouts, whose messages
  // settle.
  bool settled = false;
  std::vector<int32_t> start;         // a choice to begin with; may be empty
  bool forced = false;                // fill SolveResult::forced
  int32_t forced_node = -1;           // only of this node, whose candidates are all kept for that; -1: of all
  ReductionMemory* memory = nullptr;  // of searches of networks like this one, one after the other; may be null
  std::function<bool()> stop;         // asked now and then: stop at once?
  std::function<void(const SolveProgress&)> progress;
};

struct SolveResult {
  std::vector<int32_t> choice;      // the best feasible one; else the one of least excess
  Evaluation evaluation;            // of `choice`
  std::vector<MemoryPrice> prices;  // by time; others cost nothing
  std::vector<int32_t> alike;       // the best one found in which equal layers choose alike; empty: none was looked for
  // No feasible choice costs less (fractions: up to the rounding of CostNetwork::unit). Integral problems: a whole
  // number; kInt64Max where none is feasible.
  double lower_bound = 0;
  int64_t lower_bound_units = 0;
  double gap = 0;  // (cost - bound) / |cost|, 0 when proved
  // Min-marginals, if asked for: no feasible choice with candidate a of node v costs less than forced[v][a]; infinity
  // where there is none. Their differences from the cost bound the price of each alternative from below.
  std::vector<std::vector<double>> forced;
  bool proved_infeasible = false;
  std::string why_infeasible;
};

SolveResult Solve(const CostNetwork& network, const SolveOptions& options);

}  // namespace sbp
