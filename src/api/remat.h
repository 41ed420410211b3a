// --remat auto: how many layers compute again how much, so that a training step fits into memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "plan/plan.h"

namespace sbp {

// A mix that was planned.
struct RematTrial {
  std::string remat;  // as ParseRemat takes it (remat/policy.h)
  bool fits = false;
  double seconds = 0;         // of a step, where it fits, by the measure of plans (schedule/measure.h)
  bool is_no_better = false;  // no plan with it is better than the best one before: that is proved, so none was made
  std::string same_as;        // an earlier mix that makes the same graph, so that this one was not planned; "": none
};

struct RematChoice {
  std::string remat;
  Plan plan;
  std::vector<RematTrial> tried;  // in their order
  bool is_cut_short = false;      // as the time was spent
};

// Plans the step with a mix, within its memory limit; where nothing fits, an error of kNoPlan. `known`: seconds of a
// plan with another mix, where only a better one is of use. Nothing: it is proved that none is, by more than the gap
// that is good enough.
using PlanWithRemat = std::function<Result<std::optional<Plan>>(const std::string& remat, std::optional<double> known)>;

// The canonical text (graph/graph.h, Dump) of the step with a mix; empty: all are planned.
using GraphWithRemat = std::function<Result<std::string>(const std::string& remat)>;

// A lower bound, in seconds, of all plans with a policy of all layers, also of those above the memory limit; 0: none is
// known.
using BoundWithRemat = std::function<double(const std::string& remat)>;

// Is the time spent that may be taken? Then what was found is the answer, if anything fits yet.
using RematTimeIsSpent = std::function<bool()>;

// The cheapest plan of those tried. Mixes form a row in which each needs less memory and computes more than the one
// before: of the first N layers light, then selective with light for the rest, then alternate, then full. Tried are
// its corners (the policies), up to one behind the first that fits, as less memory may allow cheaper
// layouts; and between that and the one before by halving, down to an eighth of the layers: at most 8 plans. Layouts
// are chosen anew for each. None behind it where the peak is at most four fifths of the plan's memory limit: with so
// much room, other layouts are hardly kept out by it; or where no plan with the first policy
// that fits would be shorter than the best one by one percent without the limit: memory is not what is missing then.
// None between where all that is computed again takes at most one percent of the step, and none after one that gained
// no percent. What an earlier mix makes of the graph, too, is not planned again. Errors: of the planner; kNoPlan of the
// last mix, where none fits.
Result<RematChoice> ChooseRemat(int64_t layers, const PlanWithRemat& plan, const GraphWithRemat& graph = nullptr,
                                const BoundWithRemat& free_bound = nullptr, const RematTimeIsSpent& is_spent = nullptr);

// "full:12,selective: 9 plans tried; none 650 ms, ...".
std::string ToString(const RematChoice& choice);

}  // namespace sbp
