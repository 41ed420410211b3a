#include "schedule/measure.h"

#include "schedule/schedule.h"

namespace sbp {

StepMeasure MeasureOf(const Plan& plan) {
  return plan.has_bound && !plan.schedule_bound_seconds ? StepMeasure::kSum : StepMeasure::kSchedule;
}

double StepSeconds(const Plan& plan, StepMeasure measure) {
  return measure == StepMeasure::kSchedule ? MakeSchedule(plan).summary.step : plan.total.seconds();
}

std::optional<double> StepBound(const Plan& plan, StepMeasure measure) {
  if (measure == StepMeasure::kSchedule) return plan.schedule_bound_seconds;
  return plan.has_bound ? std::optional(plan.lower_bound_seconds) : std::nullopt;
}

}  // namespace sbp
