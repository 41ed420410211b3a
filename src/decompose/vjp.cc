#include "decompose/vjp.h"

#include <algorithm>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "decompose/evaluate.h"
#include "decompose/expansion_builder.h"
#include "graph/graph.h"
#include "rule/factor_map.h"
#include "rule/overload.h"
#include "rule/rule_set.h"
#include "rule/syntax.h"

namespace sbp {
namespace {

Status NoVjp() {
  return BadInput(
      StrCat("it has no vjp and no expansion; its paragraph in a rules file needs three lines:\n  vjp\n    d.x = "
             "...   # the cotangent of operand x, from that of result y, d.y\n    d.w = zero  # or this, where "
             "nothing depends on it"));
}

// The block that applies; nullptr: none.
Result<const Expansion*> VjpFor(const OpQuery& query, const Binding& binding, const RuleSet& rules) {
  SBP_ASSIGN_OR_RETURN(const RuleInstanceRef instance, rules.Instantiate(query));
  return ApplicableVjp(*binding.overload, ExpansionBuilder(query, binding, *instance, rules));
}

Result<Vjp> Expand(const VjpQuery& asked, const OpDefinition& definition, const RuleSet& rules) {
  SBP_ASSIGN_OR_RETURN(const Binding given, ResolveOverload(definition, asked.query));
  SBP_ASSIGN_OR_RETURN(const Expansion* vjp, VjpFor(asked.query, given, rules));
  if (vjp == nullptr) return NoVjp();
  OpQuery query = asked.query;
  std::vector<bool> reached = asked.reached;
  if (asked.results > 0) {
    query.wanted.assign(std::max(asked.results, query.wanted.size()), true);
    query.stated.clear();
    reached.resize(query.wanted.size(), false);
  }
  SBP_ASSIGN_OR_RETURN(const Binding binding, ResolveOverload(definition, query));
  SBP_ASSIGN_OR_RETURN(const RuleInstanceRef instance, rules.Instantiate(query));
  ExpansionBuilder builder(query, binding, *instance, rules);
  SBP_ASSIGN_OR_RETURN(const std::vector<TensorId> gradients, EvaluateVjp(*vjp, reached, asked.wanted, builder));
  std::vector<TensorId> outputs;
  for (const TensorId id : gradients) {
    if (id.valid() && std::ranges::find(outputs, id) == outputs.end()) outputs.push_back(id);
  }
  Vjp out;
  SBP_ASSIGN_OR_RETURN(out.graph, builder.FinishWith(outputs));
  size_t input = 0;
  for (const OperandInfo& operand : query.operands) {
    out.operands.push_back(operand.present ? out.graph.inputs[input++] : TensorId());
  }
  for (size_t r = 0; r < query.wanted.size(); ++r) {
    const bool exists = query.wanted[r] && instance->results[r].dtype != DType::kUndefined;
    out.results.push_back(exists ? out.graph.inputs[input++] : TensorId());
    out.cotangents.push_back(exists && reached[r] ? out.graph.inputs[input++] : TensorId());
  }
  for (const TensorId id : gradients) {
    const auto at = std::ranges::find(outputs, id);
    out.gradients.push_back(id.valid() ? out.graph.outputs[at - outputs.begin()] : TensorId());
  }
  std::vector<bool> read(out.graph.tensors.size(), false);
  for (const Op& op : out.graph.ops) {
    for (const TensorId id : op.inputs) {
      if (id.valid()) read[id.index()] = true;
    }
  }
  for (const TensorId id : out.graph.outputs) read[id.index()] = true;
  for (const TensorId id : out.results) out.reads_result.push_back(id.valid() && read[id.index()]);
  return out;
}

}  // namespace

bool HasVjp(const OpQuery& query, const RuleSet& rules) {
  const OpDefinition* definition = rules.Find(query.type);
  if (definition == nullptr) return false;
  const auto has_any = [](const OpOverload& overload) { return !overload.vjps.empty(); };
  if (std::ranges::none_of(definition->overloads, has_any)) return false;
  const Result<Binding> binding = ResolveOverload(*definition, query);
  if (!binding.ok() || binding->overload->vjps.empty()) return false;
  if (!binding->overload->vjps.front().when) return true;
  const Result<const Expansion*> vjp = VjpFor(query, *binding, rules);
  return vjp.ok() && *vjp != nullptr;
}

Result<Vjp> ExpandVjp(const VjpQuery& query, const RuleSet& rules) {
  const OpDefinition* definition = rules.Find(query.query.type);
  if (definition == nullptr) return BadInput(StrCat(query.query.type, "(): no such op is known"));
  Result<Vjp> vjp = Expand(query, *definition, rules);
  if (!vjp.ok()) return vjp.status().WithContext(StrCat(query.query.type, "()"));
  return vjp;
}

}  // namespace sbp
