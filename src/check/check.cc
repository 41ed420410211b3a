#include "check/check.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"
#include "check/findings.h"
#include "check/in_place.h"
#include "check/ops.h"
#include "check/peak.h"
#include "check/physical.h"
#include "check/structure.h"
#include "check/transitions.h"
#include "schedule/schedule.h"

namespace sbp {
namespace {

void CheckTotal(std::string_view what, double expected, double found, Findings& findings) {
  if (SameFigure(expected, found)) return;
  findings.Add("total", std::string(what), FormatDouble(expected), FormatDouble(found));
}

void CheckBound(const Plan& plan, Findings& findings) {
  if (!plan.has_bound) return;
  const double bound = plan.lower_bound_seconds, seconds = plan.total.seconds();
  if (bound >= 0 && (bound <= seconds || SameFigure(bound, seconds))) return;
  findings.Add("total", "lower bound", StrCat("0 to ", FormatDouble(seconds)), FormatDouble(bound));
}

void CheckScheduleBound(const Plan& plan, Findings& findings) {
  if (!plan.schedule_bound_seconds) return;
  const double bound = *plan.schedule_bound_seconds, step = MakeSchedule(plan).summary.step;
  if (bound >= 0 && (bound <= step || SameFigure(bound, step))) return;
  findings.Add("schedule", "lower bound", StrCat("0 to ", FormatDouble(step)), FormatDouble(bound));
}

}  // namespace

std::vector<Violation> CheckPlan(const Plan& plan, const RuleSet& rules) {
  Findings findings;
  CheckStructure(plan, findings);
  if (!findings.empty()) return findings.Take();  // what follows trusts every number to be in range
  const OpTotals ops = CheckOps(plan, rules, findings);
  const BoxingTotals boxing = CheckTransitions(plan, findings);
  CheckTotal("compute seconds", ops.seconds, plan.total.compute_seconds, findings);
  CheckTotal("collective seconds", boxing.seconds, plan.total.collective_seconds, findings);
  CheckTotal("bytes moved", boxing.bytes_moved, plan.total.bytes_moved, findings);
  CheckBound(plan, findings);
  CheckInPlace(plan, rules, findings);
  CheckMemory(plan, static_cast<int64_t>(ops.workspace_bytes), findings);
  if (plan.physical && findings.empty()) CheckPhysical(plan, findings);
  if (findings.empty()) CheckScheduleBound(plan, findings);
  return findings.Take();
}

}  // namespace sbp
