// The text of expansions and derivatives: every op of a rules file is expanded, and differentiated, on a few small
// operands.
#include "decompose/decompose.h"
#include "decompose/vjp.h"
#include "fuzz/target.h"
#include "rule/syntax.h"

namespace sbp::fuzz {
namespace {

constexpr size_t kMaxOps = 8;

OperandInfo Operand(const Parameter& parameter, int rank, bool optional) {
  static const Literal sizes = Literal::Ints({2});
  OperandInfo operand;
  operand.present = !parameter.optional || optional;
  if (!operand.present) return operand;
  const Shape shape = {4, 6, 2};
  operand.type.dtype = DType::kF32;
  operand.type.shape.assign(shape.begin(), shape.begin() + rank);
  if (parameter.type != "int" && parameter.type != "i64") return operand;
  operand.type = sizes.type;
  operand.value = &sizes;
  return operand;
}

OpQuery QueryOf(const OpOverload& overload, int rank, bool optional) {
  static const Attributes none;
  OpQuery query;
  query.type = overload.op;
  for (const Parameter& parameter : overload.parameters) {
    if (parameter.kind != ParameterKind::kTensor || parameter.keyword) continue;
    query.operands.push_back(Operand(parameter, rank, optional));
  }
  query.attributes = &none;
  query.wanted.assign(overload.results.size(), true);
  return query;
}

void RequireGraph(const Graph& graph, std::string_view what) {
  const Status verified = Verify(graph, what);
  Require(verified.ok(), verified.message());
  for (const Tensor& tensor : graph.tensors) Require(tensor.type.is_static(), "a tensor without sizes");
}

void Expand(const OpQuery& query, const RuleSet& rules) {
  const Result<Graph> graph = ExpandOp(query, rules);
  if (!graph.ok()) return RequireRefusal(graph.status());
  RequireGraph(*graph, "expansion");
}

void Differentiate(const OpQuery& query, const RuleSet& rules) {
  VjpQuery asked{.query = query};
  asked.reached.assign(query.wanted.size(), true);
  for (const OperandInfo& operand : query.operands) {
    asked.wanted.push_back(operand.present && IsFloat(operand.type.dtype));
  }
  const Result<Vjp> vjp = ExpandVjp(asked, rules);
  if (!vjp.ok()) return RequireRefusal(vjp.status());
  RequireGraph(vjp->graph, "vjp");
  for (size_t i = 0; i < vjp->gradients.size(); ++i) {
    if (!vjp->gradients[i].valid()) continue;
    Require(vjp->graph.tensor(vjp->gradients[i]).type == query.operands[i].type, "a cotangent of another type");
  }
}

}  // namespace

void RunExpansions(std::string_view bytes) {
  // Most inputs end here, before the built-in rules are copied, which takes a hundred times as long.
  const Result<std::vector<OpOverload>> parsed = ParseRules(bytes, "input.rules");
  if (!parsed.ok()) return RequireRefusal(parsed.status());
  RuleSet rules = BuiltinRules();
  const Status added = rules.Add(bytes, "input.rules");
  if (!added.ok()) return RequireRefusal(added);
  size_t asked = 0;
  for (const auto& [name, definition] : rules.ops()) {
    if (definition.builtin) continue;
    if (++asked > kMaxOps) break;
    for (const OpOverload& overload : definition.overloads) {
      for (int rank = 0; rank <= 3; ++rank) {
        for (const bool optional : {false, true}) {
          const OpQuery query = QueryOf(overload, rank, optional);
          if (!overload.expansions.empty()) Expand(query, rules);
          if (!overload.vjps.empty()) Differentiate(query, rules);
        }
      }
    }
  }
}

}  // namespace sbp::fuzz
