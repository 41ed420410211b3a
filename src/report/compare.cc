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
  // Of schedules, where their bound is known: then that is what is minimised.
  const bool by_schedule =
      std::ranges::any_of(plans, [](const auto& p) { return p.plan != nullptr && p.plan->schedule_bound_seconds; });
  std::vector<double> steps, measured;
  for (const ComparedPlan& compared : plans) {
    steps.push_back(compared.plan == nullptr ? 0 : MakeSchedule(*compared.plan).summary.step);
    measured.push_back(by_schedule || compared.plan == nullptr ? steps.back() : compared.plan->total.seconds());
  }
  std::optional<size_t> fastest;
  for (size_t i = 0; i < plans.size(); ++i) {
    if (plans[i].plan != nullptr && (!fastest || measured[i] < measured[*fastest])) fastest = i;
  }
  std::vector<std::vector<std::string>> rows = {{"strategy", "step", "overlapped", "compute", "boxing", "moved", "peak",
                                                 "bound", "gap", "to the best", "planned in"}};
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
    const bool bounded = by_schedule ? plan.schedule_bound_seconds.has_value() : plan.has_bound;
    const double bound = by_schedule ? plan.schedule_bound_seconds.value_or(0) : plan.lower_bound_seconds;
    const double gap = !bounded ? 0 : by_schedule ? ScheduleGapOf(plan, steps[i]) : GapOf(plan);
    rows.push_back({compared.name, FormatSeconds(plan.total.seconds()), FormatSeconds(steps[i]),
                    FormatSeconds(plan.total.compute_seconds), FormatSeconds(plan.total.collective_seconds),
                    FormatBytes(plan.total.bytes_moved), FormatBytes(static_cast<double>(plan.memory.peak_bytes)),
                    bounded ? FormatSeconds(bound) : "-", bounded ? StrCat(std::lround(100 * gap), " %") : "-", ratio,
                    FormatSeconds(compared.planning_seconds)});
  }
  return AlignColumns(rows, {false, true, true, true, true, true, true, true, true, true, true}, 0) +
         FormatPeaks(plans) + failures;
}

}  // namespace sbp
