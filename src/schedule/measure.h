// By what plans are compared: what a step takes as it is executed, or what its prices add up to.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "plan/plan.h"

namespace sbp {

enum class StepMeasure : uint8_t {
  kSum,       // all prices added up
  kSchedule,  // the step with compute and collectives side by side (schedule.h)
};
// As reports call it.
inline constexpr std::string_view kStepMeasureNames[] = {"sum", "schedule"};

// That of schedules; not where a search was asked for the least sum, whose plans have a bound of sums alone.
StepMeasure MeasureOf(const Plan& plan);

// Seconds of a step by the measure.
double StepSeconds(const Plan& plan, StepMeasure measure);

// What no plan takes less than, by the measure, where that is known.
std::optional<double> StepBound(const Plan& plan, StepMeasure measure);

}  // namespace sbp
