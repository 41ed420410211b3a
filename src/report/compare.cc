#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "base/text.h"
#include "plan/plan.h"
#include "report/facts.h"
#include "report/report.h"

namespace sbp {

std::string FormatComparison(std::span<const ComparedPlan> plans) {
  const Plan* fastest = nullptr;
  for (const ComparedPlan& compared : plans) {
    if (compared.plan == nullptr) continue;
    if (fastest == nullptr || compared.plan->total.seconds() < fastest->total.seconds()) fastest = compared.plan;
  }
  std::vector<std::vector<std::string>> rows = {
      {"strategy", "step", "compute", "boxing", "moved", "peak", "bound", "gap", "to the best", "planned in"}};
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
    rows.push_back({compared.name, FormatSeconds(seconds), FormatSeconds(plan.total.compute_seconds),
                    FormatSeconds(plan.total.collective_seconds), FormatBytes(plan.total.bytes_moved),
                    FormatBytes(static_cast<double>(plan.memory.peak_bytes)),
                    plan.has_bound ? FormatSeconds(plan.lower_bound_seconds) : "-",
                    plan.has_bound ? StrCat(std::lround(100 * GapOf(plan)), " %") : "-", ratio,
                    FormatSeconds(compared.planning_seconds)});
  }
  return AlignColumns(rows, {false, true, true, true, true, true, true, true, true, true}, 0) + failures;
}

}  // namespace sbp
