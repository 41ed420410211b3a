#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "memory/training.h"
#include "plan/plan.h"
#include "report/facts.h"
#include "report/report.h"
#include "schedule/measure.h"
#include "schedule/schedule.h"

namespace sbp {

namespace {

// What the peak of each plan of a training step is made of. "": none is one.
std::string FormatPeaks(std::span<const ComparedPlan> plans) {
  std::vector<std::vector<std::string>> rows;
  for (const ComparedPlan& compared : plans) {
    if (compared.plan == nullptr) continue;
    const std::optional<MemorySplit> split = SplitPeak(*compared.plan);
    if (!split) continue;
    std::vector<std::string> names = {"peak of"}, row = {compared.name};
    for (const auto& [name, bytes] : PartsOf(*split)) {
      names.emplace_back(name);
      row.push_back(FormatBytes(static_cast<double>(bytes)));
    }
    if (rows.empty()) rows.push_back(std::move(names));
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return "";
  std::vector<bool> right(rows[0].size(), true);
  right[0] = false;
  return "\n" + AlignColumns(rows, right, 0);
}

}  // namespace

std::string FormatComparison(std::span<const ComparedPlan> plans) {
  // The plans are of one execution; what one of them was made for, the others are held against.
  StepMeasure measure = StepMeasure::kSchedule;
  for (const ComparedPlan& compared : plans) {
    if (compared.plan != nullptr && MeasureOf(*compared.plan) == StepMeasure::kSum) measure = StepMeasure::kSum;
  }
  const bool by_schedule = measure == StepMeasure::kSchedule;
  std::vector<double> steps, measured;
  for (const ComparedPlan& compared : plans) {
    steps.push_back(compared.plan == nullptr ? 0 : MakeSchedule(*compared.plan).summary.step);
    measured.push_back(by_schedule || compared.plan == nullptr ? steps.back() : compared.plan->total.seconds());
  }
  std::optional<size_t> fastest;
  for (size_t i = 0; i < plans.size(); ++i) {
    if (plans[i].plan != nullptr && (!fastest || measured[i] < measured[*fastest])) fastest = i;
  }
  std::vector<std::vector<std::string>> rows = {{"strategy", "step", "sum of prices", "compute", "boxing", "moved",
                                                 "peak", by_schedule ? "bound of step" : "bound of sum", "gap",
                                                 "to the best", "planned in"}};
  std::string failures;
  for (size_t i = 0; i < plans.size(); ++i) {
    const ComparedPlan& compared = plans[i];
    if (compared.plan == nullptr) {
      failures += StrCat(compared.name, ": no plan: ", compared.failure, "\n");
      continue;
    }
    const Plan& plan = *compared.plan;
    const std::string ratio = i == *fastest ? "fastest"
                              : measured[*fastest] > 0
                                  ? StrCat("x ", FormatDouble(std::round(100 * measured[i] / measured[*fastest]) / 100))
                                  : "-";
    const std::optional<double> bound = StepBound(plan, measure);
    const double gap = !bound ? 0 : by_schedule ? ScheduleGapOf(plan, steps[i]) : GapOf(plan);
    rows.push_back({compared.name, FormatSeconds(steps[i]), FormatSeconds(plan.total.seconds()),
                    FormatSeconds(plan.total.compute_seconds), FormatSeconds(plan.total.collective_seconds),
                    FormatBytes(plan.total.bytes_moved), FormatBytes(static_cast<double>(plan.memory.peak_bytes)),
                    bound ? FormatSeconds(*bound) : "-", bound ? StrCat(std::lround(100 * gap), " %") : "-", ratio,
                    FormatSeconds(compared.planning_seconds)});
  }
  return AlignColumns(rows, {false, true, true, true, true, true, true, true, true, true, true}, 0) +
         FormatPeaks(plans) + failures;
}

}  // namespace sbp
