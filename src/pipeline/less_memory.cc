#include "pipeline/less_memory.h"

#include <cstdint>

#include "schedule/measure.h"
#include "strategy/evaluate.h"

namespace sbp {
namespace {

constexpr double kRounding = 1e-9;
constexpr double kWorthLess = 0.99;  // of the peak

}  // namespace

Status EvaluateInLessMemory(const Problem& problem, const Assignment& assignment, Plan& plan) {
  SBP_RETURN_IF_ERROR(Evaluate(problem, assignment, plan, {.ahead = true}));
  if (plan.transitions.empty()) return OkStatus();
  const StepMeasure measure = MeasureOf(plan);
  const double step = StepSeconds(plan, measure);
  const int64_t peak = plan.memory.peak_bytes;
  const Status shrunk = Evaluate(problem, assignment, plan, {.ahead = true, .shrinks = true});
  const bool is_smaller =
      shrunk.ok() && static_cast<double>(plan.memory.peak_bytes) <= kWorthLess * static_cast<double>(peak);
  if (is_smaller && StepSeconds(plan, measure) <= step * (1 + kRounding)) return OkStatus();
  return Evaluate(problem, assignment, plan, {.ahead = true});
}

}  // namespace sbp
