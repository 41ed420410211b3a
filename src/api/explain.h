// Why an op, a tensor or a scope of a plan is laid out as it is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"
#include "explain/explain.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "rule/rule_set.h"

namespace sbp {

// Explain (explain/explain.h) of a plan alone: the problem that it answers is built again. `rules`: RulesOfPlan.
Result<std::string> ExplainPlan(const Plan& plan, const RuleSet& rules, std::string_view name, bool json = false,
                                const ExplainFormat& format = {});

// What a training graph keeps for its backward pass (report/kept.h), or a plan of one, then with what a device holds of
// it. Text with at most `rows` of each kind, or JSON.
std::string ExplainKept(const Graph& training, const RuleSet& rules, bool json, size_t rows);
std::string ExplainKept(const Plan& plan, const RuleSet& rules, bool json, size_t rows);
// Error (kBadInput): the graph has no backward pass, or sizes that are not known.
Status CheckTrainingGraph(const Graph& graph, std::string_view where);

}  // namespace sbp
