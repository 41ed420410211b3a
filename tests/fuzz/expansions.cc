// The text of expansions: every op of a rules file is expanded on a few small operands.
#include "decompose/decompose.h"
#include "fuzz/target.h"

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

void Expand(const RuleSet& rules, const OpOverload& overload, int rank, bool optional) {
  OpQuery query;
  query.type = overload.op;
  for (const Parameter& parameter : overload.parameters) {
    if (parameter.kind != ParameterKind::kTensor || parameter.keyword) continue;
    query.operands.push_back(Operand(parameter, rank, optional));
  }
  const Attributes none;
  query.attributes = &none;
  query.wanted.assign(overload.results.size(), true);
  const Result<Graph> graph = ExpandOp(query, rules);
  if (!graph.ok()) return RequireRefusal(graph.status());
  const Status verified = Verify(*graph, "expansion");
  Require(verified.ok(), verified.message());
  for (const Tensor& tensor : graph->tensors) Require(tensor.type.is_static(), "a tensor without sizes");
}

}  // namespace

void RunExpansions(std::string_view bytes) {
  RuleSet rules = BuiltinRules();
  const Status added = rules.Add(bytes, "input.rules");
  if (!added.ok()) return RequireRefusal(added);
  size_t asked = 0;
  for (const auto& [name, definition] : rules.ops()) {
    if (definition.builtin) continue;
    if (++asked > kMaxOps) break;
    for (const OpOverload& overload : definition.overloads) {
      if (overload.expansions.empty()) continue;
      for (int rank = 0; rank <= 3; ++rank) {
        for (const bool optional : {false, true}) Expand(rules, overload, rank, optional);
      }
    }
  }
}

}  // namespace sbp::fuzz
