// What can be said of a mesh before it is planned: a bound that no plan on it is below, and a plan that is quickly
// found.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>

#include "base/status.h"
#include "pipeline/request.h"
#include "schedule/measure.h"
#include "strategy/known_plan.h"

namespace sbp {

struct Look {
  double bound = 0;                      // seconds: the prices of no plan on the mesh add up to less
  double schedule_bound = 0;             // likewise, where asked for: no plan's schedule is shorter
  double free_bound = 0;                 // as `bound`, but of all plans, also of those above the memory limit
  double free_schedule_bound = 0;        // likewise
  bool is_schedule_bound_final = false;  // no more is to be had of BoundSchedulesOn
  bool proved_too_large = false;         // no plan on it keeps to the memory limit
  int64_t least_peak_bytes = 0;          // where that is proved: no plan peaks below
  bool is_large = false;                 // not all candidates can be looked at together: planning takes long
  int64_t work = 0;                      // candidates of all ops: what planning takes grows with it
  std::optional<KnownPlan> known;        // the best plan seen that fits, or the smallest
  int64_t peak_bytes = 0;                // of `known`, where there is a memory limit
  double known_schedule = 0;             // seconds of its schedule, where asked for
  bool fits = false;                     // `known` does

  // Seconds of the step of `known`, which must be there, and the bound, by what steps are compared by.
  double KnownStep(StepMeasure measure) const {
    return measure == StepMeasure::kSchedule ? known_schedule : known->seconds;
  }
  double Bound(StepMeasure measure) const { return measure == StepMeasure::kSchedule ? schedule_bound : bound; }
};

// Looks at the mesh of a request, without planning it. The bound is that of the relaxed network of `optimal`
// (strategy/optimal/layout_network.h) after a tenth of its usual work, which on most graphs is within a few per cent of
// what planning would find; where that network would be too large (network_size.h), that of layout_bound.h, of sums or
// of schedules, no further than is needed to see that no step on the mesh is shorter than 1 - `gap` times `enough`
// seconds. `coarser`: plans of coarser meshes, each priced as it is on this one, and so is a plan that the request
// starts from. Deterministic. Errors: as PoseProblem.
struct LookOptions {
  std::span<const KnownPlan* const> coarser;
  bool schedules = false;  // also what is known of schedules without a search: their bound follows from that of sums
  double enough = std::numeric_limits<double>::infinity();  // seconds, by schedules or by sums
  double gap = 0;
  // Of a step of a plan from elsewhere: bounds go no further than is needed to see that none here is better by more
  // than the gap.
  std::optional<double> known_seconds;
  std::function<bool()> cancelled;
  std::function<bool()> stop;  // is there no time to search further? Then the look is what is known; null: there is
};
Result<Look> LookAt(PlanRequest request, const LookOptions& options);

// Raises look.schedule_bound to that of the search for short schedules (strategy/optimal/schedule_bound.h), after a
// part of its work, and no further than is needed to see that no schedule on the mesh is shorter than 1 - `gap` times
// `enough` seconds. Takes about as long as the look. `look` is of the same request. Deterministic. Errors: as
// PoseProblem.
Status BoundSchedulesOn(PlanRequest request, double enough, double gap, const std::function<bool()>& cancelled,
                        Look& look);

}  // namespace sbp
