#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/text.h"
#include "decompose/decompose.h"
#include "decompose/evaluate.h"
#include "decompose/expansion_builder.h"
#include "decompose/expansions.h"
#include "rule/factor_map.h"
#include "rule/overload.h"
#include "rule/rule_set.h"
#include "rule/syntax.h"

namespace sbp {
namespace {

Result<Graph> Expand(const OpQuery& query, const OpDefinition& definition, const RuleSet& rules) {
  SBP_ASSIGN_OR_RETURN(const Binding binding, ResolveOverload(definition, query));
  SBP_ASSIGN_OR_RETURN(const RuleInstanceRef instance, rules.Instantiate(query));
  ExpansionBuilder builder(query, binding, *instance, rules);
  // A user's own paragraph comes before our code for the op of that name.
  const ExpansionRow* row = definition.builtin ? FindExpansion(query.type) : nullptr;
  if (!binding.overload->expansions.empty()) {
    SBP_RETURN_IF_ERROR(EvaluateExpansion(*binding.overload, builder));
  } else if (row != nullptr) {
    SBP_RETURN_IF_ERROR(row->run(builder));
  } else {
    return BadInput("it has no expansion");
  }
  return builder.Finish();
}

}  // namespace

Result<Graph> ExpandOp(const OpQuery& query, const RuleSet& rules) {
  const OpDefinition* definition = rules.Find(query.type);
  if (definition == nullptr) return BadInput(StrCat(query.type, "(): no such op is known"));
  if (query.has_subgraphs) return BadInput(StrCat(query.type, "(): an op with subgraphs is not expanded"));
  Result<Graph> graph = Expand(query, *definition, rules);
  if (!graph.ok()) return graph.status().WithContext(StrCat(query.type, "()"));
  return graph;
}

int64_t ExpansionBudgetOf(std::string_view op_type, const RuleSet& rules) {
  const OpDefinition* definition = rules.Find(op_type);
  return definition != nullptr && !definition->builtin ? kUserExpansion : kBuiltinExpansion;
}

Status ExpansionTooLarge(std::string_view op_type, const RuleSet& rules, std::string_view what) {
  std::string place;
  if (const OpDefinition* definition = rules.Find(op_type)) {
    for (const OpOverload& overload : definition->overloads) {
      if (!place.empty() || overload.expansions.empty()) continue;
      place = StrCat(ToString(overload.expansions.front().at), ": ");
    }
  }
  return BadInput(StrCat(place, "the expansion of ", Quote(op_type), " ", what));
}

bool HasExpansion(std::string_view op_type, const RuleSet& rules) {
  const OpDefinition* definition = rules.Find(op_type);
  if (definition == nullptr) return false;
  return (definition->builtin && FindExpansion(op_type) != nullptr) ||
         std::any_of(definition->overloads.begin(), definition->overloads.end(),
                     [](const OpOverload& overload) { return !overload.expansions.empty(); });
}

}  // namespace sbp
