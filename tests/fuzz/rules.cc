// Rules files: parsed, then every op asked on a few small operands.
#include "fuzz/target.h"
#include "rule/candidates.h"
#include "rule/infer.h"

namespace sbp::fuzz {
namespace {

constexpr size_t kMaxOps = 20;

OperandInfo Operand(const Parameter& parameter, int rank) {
  static const Literal zero = Literal::Ints({0});
  const Shape shape = {8, 6, 4, 2};
  OperandInfo operand;
  operand.present = !parameter.optional;
  if (!operand.present) return operand;
  operand.type.dtype = parameter.type == "int" || parameter.type == "i64" ? DType::kI64 : DType::kF32;
  operand.type.shape.assign(shape.begin(), shape.begin() + rank);
  if (rank == 1 && operand.type.dtype == DType::kI64) {
    operand.type.shape = {1};
    operand.value = &zero;
  }
  return operand;
}

void AskOp(const RuleSet& rules, const OpOverload& overload, int rank, const Mesh& mesh) {
  OpQuery query;
  query.type = overload.op;
  for (const Parameter& parameter : overload.parameters) {
    if (parameter.kind == ParameterKind::kTensor && !parameter.keyword) {
      query.operands.push_back(Operand(parameter, rank));
      if (parameter.variadic) query.operands.push_back(query.operands.back());
    }
  }
  const Attributes none;
  query.attributes = &none;
  query.wanted.assign(overload.results.size(), true);
  const Result<RuleInstanceRef> instance = rules.Instantiate(query);
  if (!instance.ok()) return RequireRefusal(instance.status());
  const CandidateList list = MakeCandidates(*instance, mesh, {.max_candidates = 500});
  Require(!list.candidates.empty(), "no candidate, not even all-B");
  for (const bool backward : {false, true}) {
    const Signature& signature = list.candidates.front().signature;
    (void)InferLayouts({.instance = *instance,
                        .mesh = mesh,
                        .inputs = signature.inputs,
                        .outputs = signature.outputs,
                        .backward = backward});
  }
}

}  // namespace

void RunRules(std::string_view bytes) {
  RuleSet rules;
  const Status added = rules.Add(bytes, "input.rules");
  if (!added.ok()) return RequireRefusal(added);
  static const Mesh mesh = ParseMesh("2,2").value();
  size_t asked = 0;
  for (const auto& [name, definition] : rules.ops()) {
    if (++asked > kMaxOps) break;
    for (const OpOverload& overload : definition.overloads) {
      (void)FormatSignature(overload);
      for (int rank = 0; rank <= 4; ++rank) AskOp(rules, overload, rank, mesh);
    }
  }
}

}  // namespace sbp::fuzz
