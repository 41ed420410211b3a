#include <algorithm>

#include "fold/evaluate.h"
#include "fold/evaluators.h"

namespace sbp {
namespace {

namespace e = evaluators;
constexpr int kAll = EvaluatorRow::kAll;

// By name: FindEvaluator searches it.
constexpr EvaluatorRow kEvaluators[] = {
    {"Abs", e::Absolute},
    {"Add", e::Add, 2},
    {"And", e::And, 2},
    {"ArgMax", e::ArgMax},
    {"ArgMin", e::ArgMin},
    {"Cast", e::Cast, 1, true, 1},
    {"CastLike", e::CastLike, 2},
    {"Ceil", e::Ceil},
    {"Clip", e::Clip},
    {"Concat", e::Concat, kAll, true, kAll},
    {"ConstantOfShape", e::ConstantOfShape},
    {"CumSum", e::CumSum, 2},
    {"Div", e::Divide, 2},
    {"Equal", e::Equal, 2},
    {"Exp", e::Exponential},
    {"Expand", e::Expand, 2, true, 1},
    {"Flatten", e::Flatten, 1, true, 1},
    {"Floor", e::Floor},
    {"Gather", e::Gather, 2, true, 1},
    {"GatherElements", e::GatherElements, 2, true, 1},
    {"GatherND", e::GatherND, 2, true, 1},
    {"Greater", e::Greater, 2},
    {"GreaterOrEqual", e::GreaterOrEqual, 2},
    {"Identity", e::Identity, 1, true, 1},
    {"IsInf", e::IsInf},
    {"IsNaN", e::IsNan},
    {"Less", e::Less, 2},
    {"LessOrEqual", e::LessOrEqual, 2},
    {"Log", e::Logarithm},
    {"Max", e::Maximum, kAll},
    {"Min", e::Minimum, kAll},
    {"Mod", e::Modulo, 2},
    {"Mul", e::Multiply, 2},
    {"Neg", e::Negate},
    {"NonZero", e::NonZero},
    {"Not", e::Not},
    {"Or", e::Or, 2},
    {"Pow", e::Power, 2},
    {"Range", e::Range, 3},
    {"Reciprocal", e::Reciprocal},
    {"ReduceMax", e::ReduceMax},
    {"ReduceMean", e::ReduceMean},
    {"ReduceMin", e::ReduceMin},
    {"ReduceProd", e::ReduceProd},
    {"ReduceSum", e::ReduceSum},
    {"Relu", e::Relu},
    {"Reshape", e::Reshape, 2, true, 1},
    {"Round", e::Round},
    {"ScatterElements", e::ScatterElements, 3},
    {"ScatterND", e::ScatterND, 3},
    {"SequenceLength", e::SequenceLength, 1, false, 1},
    {"Shape", e::ShapeOf, 1, false, 1},
    {"Sign", e::Sign},
    {"Size", e::Size, 1, false},
    {"Slice", e::Slice, 3, true, 1},
    {"Split", e::Split, 1, true, 1},
    {"Sqrt", e::SquareRoot},
    {"Squeeze", e::Squeeze, 1, true, 1},
    {"Sub", e::Subtract, 2},
    {"Tile", e::Tile, 2, true, 1},
    {"Transpose", e::Transpose, 1, true, 1},
    {"Unsqueeze", e::Unsqueeze, 2, true, 1},
    {"Where", e::Where, 3, true, 0b110},
    {"Xor", e::Xor, 2},
};
static_assert(std::ranges::is_sorted(kEvaluators, {}, &EvaluatorRow::op));

bool HasValues(const Literal& literal) {
  const size_t held = literal.ints.size() + literal.floats.size() + literal.strings.size();
  return static_cast<int64_t>(held) == literal.type.num_elements();
}

}  // namespace

std::span<const EvaluatorRow> AllEvaluators() { return kEvaluators; }

const EvaluatorRow* FindEvaluator(std::string_view op) {
  const auto* row = std::ranges::lower_bound(kEvaluators, op, {}, &EvaluatorRow::op);
  return row != std::end(kEvaluators) && row->op == op ? row : nullptr;
}

bool Evaluate(const EvaluatorRow& row, const FoldRequest& request, std::vector<Literal>& results) {
  const size_t required =
      row.required == EvaluatorRow::kAll ? request.operands.size() : static_cast<size_t>(row.required);
  if (request.operands.size() < required || request.operands.empty()) return false;
  for (size_t i = 0; i < request.operands.size(); ++i) {
    const FoldOperand& operand = request.operands[i];
    if (!operand.present && i < required) return false;
    if (!operand.present || !row.needs_values) continue;
    // A literal of a large or stripped constant has a type only.
    if (operand.value == nullptr || !HasValues(*operand.value)) return false;
  }
  results.clear();
  return row.run(request, results) && results.size() == request.num_results;
}

}  // namespace sbp
