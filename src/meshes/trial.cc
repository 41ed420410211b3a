#include "meshes/trial.h"

#include <algorithm>
#include <limits>

#include "meshes/look.h"
#include "schedule/measure.h"
#include "schedule/schedule.h"

namespace sbp {

void Describe(const Look* look, Plan& plan, MeshTrial& trial) {
  const ScheduleSummary schedule = MakeSchedule(plan).summary;
  trial.outcome = MeshOutcome::kPlanned;
  trial.has_price = true;
  trial.total = plan.total;
  trial.seconds = plan.total.seconds();
  trial.overlapped_seconds = schedule.step;
  trial.exposed_seconds = schedule.exposed;
  trial.peak_bytes = plan.memory.peak_bytes;
  trial.has_bound = plan.has_bound;
  trial.bound_seconds = plan.lower_bound_seconds;
  trial.schedule_bound_seconds = plan.schedule_bound_seconds;
  if (plan.mesh.num_devices() == 1) {  // there is but one plan
    trial.has_bound = true;
    trial.bound_seconds = trial.seconds;
    trial.schedule_bound_seconds = schedule.step;
  }
  // What a look found may be more than the search's own bound.
  if (look != nullptr && look->schedule_bound > 0) {
    const double most = std::max(trial.schedule_bound_seconds.value_or(0), look->schedule_bound);
    trial.schedule_bound_seconds = plan.schedule_bound_seconds = std::min(most, schedule.step);
  }
}

std::optional<double> LeastBound(const std::vector<MeshTrial>& trials, StepMeasure measure) {
  const bool has_plan = trials.front().outcome == MeshOutcome::kPlanned;
  double least = has_plan ? trials.front().StepSeconds(measure) : std::numeric_limits<double>::infinity();
  for (const MeshTrial& trial : trials) {
    if (trial.outcome >= MeshOutcome::kTooLarge) continue;
    const std::optional<double> bound = trial.StepBound(measure);
    if (!bound) return std::nullopt;
    least = std::min(least, *bound);
  }
  return least;
}

double MeshTrial::StepSeconds(StepMeasure measure) const {
  return measure == StepMeasure::kSchedule ? overlapped_seconds : seconds;
}

std::optional<double> MeshTrial::StepBound(StepMeasure measure) const {
  if (measure == StepMeasure::kSchedule) return schedule_bound_seconds;
  return has_bound ? std::optional(bound_seconds) : std::nullopt;
}

}  // namespace sbp
