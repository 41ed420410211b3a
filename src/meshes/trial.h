// What is known of a mesh among which one is chosen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/cost.h"
#include "plan/plan.h"
#include "sbp/mesh.h"
#include "schedule/measure.h"

namespace sbp {

struct Look;  // meshes/look.h

enum class MeshOutcome : uint8_t {
  kPlanned,
  kPruned,    // not planned: its bound says that it has nothing better than the plans that are kept
  kLookedAt,  // not planned for lack of effort: its figures are those of a plan found at a glance
  kNotFound,  // none was found that fits the memory limit; there may be one
  kTooLarge,  // no plan fits the memory limit, or the one that the strategy makes does not
  kNoPlan,    // pins do not fit it, and the like
};
inline constexpr std::string_view kMeshOutcomeNames[] = {"planned",    "pruned",       "looked at",
                                                         "none found", "does not fit", "no plan"};

// What was found out about a mesh.
struct MeshTrial {
  Mesh mesh;
  MeshOutcome outcome = MeshOutcome::kNoPlan;
  bool has_price = false;  // of a plan, planned or not: `seconds`, and `overlapped_seconds` if those are compared
  double seconds = 0;      // of a step: the sum of all prices
  double overlapped_seconds = 0;  // of the step as it is executed, compute beside collectives (schedule/schedule.h)
  double exposed_seconds = 0;     // kPlanned only, as what follows: of collectives, while nothing is computed
  Cost total;
  int64_t peak_bytes = 0;
  bool has_bound = false;
  double bound_seconds = 0;                      // the prices of no plan on this mesh add up to less
  std::optional<double> schedule_bound_seconds;  // no plan's schedule is shorter, where that is known
  std::string why;                               // kNotFound and what follows: the planner's words

  double StepSeconds(StepMeasure measure) const;
  std::optional<double> StepBound(StepMeasure measure) const;
};

// Prices, peak bytes and bounds of the plan; the trial is one that is planned. `look`: of the mesh; null: it had none.
// Its bound of schedules is the plan's, too, where it is more.
void Describe(const Look* look, Plan& plan, MeshTrial& trial);

// Bounds of a mesh that is not planned, and the price of the plan that was found at a glance, where one fits.
void Describe(const Look& look, StepMeasure measure, MeshTrial& trial);

// In words, of a mesh that is proved too large.
std::string PeakProved(const Look& look);

// The fastest planned first, then those that are not by their bounds, then those without a plan.
void SortTrials(StepMeasure measure, std::vector<MeshTrial>& trials);

// Seconds that no plan on the meshes takes less than, of the trials, the best first; meshes without any plan do not
// count. Nothing: one of the others has no bound.
std::optional<double> LeastBound(const std::vector<MeshTrial>& trials, StepMeasure measure);

}  // namespace sbp
