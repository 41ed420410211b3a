#include <cmath>
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
  const Plan* fastest = nullptr;
  for (const ComparedPlan& compared : plans) {
    if (compared.plan == nullptr) continue;
    if (fastest == nullptr || compared.plan->total.seconds() < fastest->total.seconds()) fastest = compared.plan;
  }
  std::vector<std::vector<std::string>> rows = {{"strategy", "step", "overlapped", "compute", "boxing", "moved", "peak",
                                                 "bound", "gap", "to the best", "planned in"}};
  std::string failures;
  for (const ComparedPlan& compared : plans) {
    if (compared.plan == nullptr) {
      failures += StrCat(compared.name, ": no plan: ", compared.failure, "\n");
      continue;
    }
    const Plan& plan = *compared.plan;
    const double seconds = plan.total.seconds();
    const std::string ratio =
        compared.plan == fastest ? "fastest"
        : fastest->total.seconds() > 0
            ? StrCat("x ", FormatDouble(std::round(100 * seconds / fastest->total.seconds()) / 100))
            : "-";
    rows.push_back({compared.name, FormatSeconds(seconds), FormatSeconds(MakeSchedule(plan).summary.step),
                    FormatSeconds(plan.total.compute_seconds), FormatSeconds(plan.total.collective_seconds),
                    FormatBytes(plan.total.bytes_moved), FormatBytes(static_cast<double>(plan.memory.peak_bytes)),
                    plan.has_bound ? FormatSeconds(plan.lower_bound_seconds) : "-",
                    plan.has_bound ? StrCat(std::lround(100 * GapOf(plan)), " %") : "-", ratio,
                    FormatSeconds(compared.planning_seconds)});
  }
  return AlignColumns(rows, {false, true, true, true, true, true, true, true, true, true, true}, 0) +
         FormatPeaks(plans) + failures;
}

}  // namespace sbp
