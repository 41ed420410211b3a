// Plans as pages: HTML files that open from disk (page/page.h).
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "plan/plan.h"
#include "rule/rule_set.h"

namespace sbp {

// What `run --trace` wrote; `path` is for messages.
struct TraceFile {
  std::string path, text;
};

// Of a plan, with what is known of it from its rules (RulesOfPlan): candidates and their prices; or of a bare graph.
// `trace`: a run of the plan, to be drawn beside it. Error (kBadInput): it is no trace, or one of another plan.
// `file`: the plan's (PageOptions::file).
Result<std::string> PageOfPlan(const Plan& plan, const RuleSet& rules, const TraceFile* trace = nullptr,
                               std::string_view file = {});

// Two plans side by side.
Result<std::string> PageOfPlans(const Plan& before, const RuleSet& rules_before, const Plan& after,
                                const RuleSet& rules_after, std::string_view file_before = {},
                                std::string_view file_after = {});

}  // namespace sbp
