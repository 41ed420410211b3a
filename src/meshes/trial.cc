#include "meshes/trial.h"

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>

#include "base/text.h"
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

void Describe(const Look& look, StepMeasure measure, MeshTrial& trial) {
  trial.has_bound = true;
  trial.bound_seconds = look.bound;
  if (measure == StepMeasure::kSchedule) trial.schedule_bound_seconds = look.schedule_bound;
  trial.has_price = look.known && look.fits;
  if (!trial.has_price) return;
  trial.seconds = look.known->seconds;
  trial.overlapped_seconds = look.known_schedule;
}

std::string PeakProved(const Look& look) {
  return StrCat("no plan peaks below ", FormatBytes(static_cast<double>(look.least_peak_bytes)));
}

void SortTrials(StepMeasure measure, std::vector<MeshTrial>& trials) {
  std::ranges::stable_sort(trials, {}, [&](const MeshTrial& trial) {
    const bool planned = trial.outcome == MeshOutcome::kPlanned;
    return std::tuple(trial.outcome >= MeshOutcome::kNotFound ? trial.outcome
                      : planned                               ? MeshOutcome::kPlanned
                                                              : MeshOutcome::kPruned,
                      planned ? trial.StepSeconds(measure) : trial.StepBound(measure).value_or(0));
  });
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
