// The options of `optimal`.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"
#include "strategy/strategy.h"

namespace sbp {

// What the best plan is the least of.
enum class Objective : uint8_t {
  kSum,       // all prices added up
  kSchedule,  // the step with compute and collectives side by side (schedule/schedule.h)
};

// How long and how well it searches.
struct SearchOptions {
  double effort = 1;      // amount of work, about seconds of one processor; used when `seconds` is 0
  double seconds = 0;     // stop then, whatever was found; 0: when the effort is spent
  double gap = 0.009;     // stop once (cost - bound) / cost is at most this
  double uniform = 0.01;  // a uniform plan is kept unless another is cheaper by more than this share; below 0: off
  int threads = 2;        // the answer does not depend on it unless `seconds` is given
  uint64_t seed = 0;
  Objective objective = Objective::kSchedule;
  bool reorders = false;  // may the step run ops in another order than the graph's?
};
std::span<const StrategyOption> AllSearchOptions();
inline constexpr std::string_view kGivenOrder = "given", kShortestOrder = "shortest";  // --op-order

// What `options` say, and the defaults.
SearchOptions SearchOptionsOf(const StrategyOptions& options);
// Error (kUsage): --effort and --time together.
Status CheckSearchOptions(const StrategyOptions& options);
// The gap asked for, and as what may close it some twenty times as much of what bounded the search.
SearchGoal GoalOfSearch(const StrategyOptions& options);

}  // namespace sbp
