// Each foldable op: operands, attributes, and the results as text, or "no".
#include "fold/evaluate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace sbp {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

Literal I(std::vector<int64_t> values, Shape shape) {
  Literal literal = Literal::Ints(std::move(values));
  literal.type.shape = std::move(shape);
  return literal;
}
Literal I(std::vector<int64_t> values) { return Literal::Ints(std::move(values)); }
Literal I32(std::vector<int64_t> values) { return Literal::Ints(std::move(values), DType::kI32); }
Literal U8(std::vector<int64_t> values) { return Literal::Ints(std::move(values), DType::kU8); }
Literal B(std::vector<int64_t> values) { return Literal::Ints(std::move(values), DType::kBool); }
Literal S(int64_t value) { return Literal::Scalar(value); }
Literal F(std::vector<double> values, DType dtype = DType::kF32) {
  Literal literal;
  literal.type = TensorType{dtype, {static_cast<int64_t>(values.size())}};
  literal.floats = std::move(values);
  return literal;
}
Literal Texts(std::vector<std::string> values) {
  Literal literal;
  literal.type = TensorType{DType::kString, {static_cast<int64_t>(values.size())}};
  literal.strings = std::move(values);
  return literal;
}
// A sequence without known values: tensors of `stacked`.
Literal Seq(Shape stacked) {
  Literal literal;
  literal.type = TensorType{DType::kF32, std::move(stacked), ValueKind::kSequence};
  return literal;
}
Literal None() { return Literal(); }  // an absent operand

using Attribute = std::pair<std::string, AttributeValue>;

struct EvaluateRow {
  std::string op;
  std::vector<Literal> operands;
  std::vector<Attribute> attributes;
  std::string expected;
  size_t results = 1;
};

std::string Answer(const EvaluateRow& row) {
  static const RuleSet rules = *RuleSet::Builtin();
  Attributes attributes;
  for (const auto& [name, value] : row.attributes) attributes.Set(name, value);
  FoldRequest request;
  request.attributes = std::make_shared<const Attributes>(std::move(attributes));
  request.query.type = row.op;
  request.query.attributes = request.attributes.get();
  request.query.wanted.assign(row.results, true);
  for (const Literal& literal : row.operands) {
    const bool present = literal.type.dtype != DType::kUndefined;
    request.query.operands.push_back({present, literal.type, present ? &literal : nullptr});
  }
  const FoldableOp* foldable = FindFoldableOp(row.op);
  if (foldable == nullptr) return "unknown op";
  InstanceCache cache(rules);
  OpEvaluator evaluator(cache);
  const std::optional<Evaluated> done = evaluator.Run(*foldable, request);
  if (!done) return "no";
  std::vector<std::string> texts;
  for (const Literal& result : done->values) texts.push_back(StrCat(ToString(result.type), " ", ToString(result)));
  return Join(texts, "; ");
}

const std::vector<EvaluateRow> kRows = {
    // Sizes
    {"Shape", {I({1, 2, 3, 4, 5, 6}, {2, 3})}, {}, "i64[2] [2, 3]"},
    {"Shape", {I({1, 2, 3, 4, 5, 6}, {2, 3})}, {{"start", int64_t{-1}}}, "i64[1] [3]"},
    {"Shape", {I({1, 2, 3, 4, 5, 6}, {2, 3})}, {{"start", int64_t{1}}, {"end", int64_t{1}}}, "i64[0] []"},
    {"SequenceLength", {Seq({3, 2})}, {}, "i64[] 3"},
    {"SequenceLength", {I({1, 2})}, {}, "no"},
    {"Size", {I({1, 2, 3, 4, 5, 6}, {2, 3})}, {}, "i64[] 6"},
    {"ConstantOfShape", {I({2, 2})}, {}, "f32[2,2] [0, 0, 0, 0]"},
    {"ConstantOfShape", {I({2})}, {{"value", LiteralRef(std::make_shared<Literal>(I({7})))}}, "i64[2] [7, 7]"},
    {"ConstantOfShape", {I({})}, {}, "f32[] 0"},
    {"ConstantOfShape", {I({4097})}, {}, "no"},
    {"ConstantOfShape", {I({1000000, 1000000, 1000000, 1000000})}, {}, "no"},
    {"Range", {S(2), S(9), S(3)}, {}, "i64[3] [2, 5, 8]"},
    {"Range", {S(5), S(0), S(-2)}, {}, "i64[3] [5, 3, 1]"},
    {"Range", {S(5), S(0), S(2)}, {}, "i64[0] []"},
    {"Range", {S(0), S(5), S(0)}, {}, "no"},
    {"Range", {S(kMin), S(-(kMin + 1)), S(1)}, {}, "no"},
    {"NonZero", {I({0, 3, 5, 0}, {2, 2})}, {}, "i64[2,2] [0, 1, 1, 0]"},
    // Moving elements
    {"Gather", {I({2, 3, 5}), I({-1, 0})}, {}, "i64[2] [5, 2]"},
    {"Gather", {I({2, 3, 5}), S(1)}, {}, "i64[] 3"},
    {"Gather", {I({1, 2, 3, 4}, {2, 2}), S(1)}, {{"axis", int64_t{1}}}, "i64[2] [2, 4]"},
    {"Gather", {I({2, 3, 5}), S(3)}, {}, "no"},
    {"Gather", {I({2, 3, 5})}, {}, "no"},
    {"GatherElements", {I({1, 2, 3, 4}, {2, 2}), I({1, 0}, {1, 2})}, {}, "i64[1,2] [3, 2]"},
    {"GatherND", {I({1, 2, 3, 4}, {2, 2}), I({1, 0}, {1, 2})}, {}, "i64[1] [3]"},
    {"GatherND", {I({1, 2, 3, 4}, {2, 2}), I({-1}, {1, 1})}, {}, "i64[1,2] [3, 4]"},
    {"Concat", {I({1}), I({2, 3})}, {{"axis", int64_t{0}}}, "i64[3] [1, 2, 3]"},
    {"Concat", {I({1, 2}, {2, 1}), I({3, 4}, {2, 1})}, {{"axis", int64_t{-1}}}, "i64[2,2] [1, 3, 2, 4]"},
    {"Concat", {I({1}), I32({2})}, {{"axis", int64_t{0}}}, "no"},
    {"Concat", {I({1}), None()}, {{"axis", int64_t{0}}}, "no"},
    {"Slice", {I({0, 1, 2, 3, 4}), I({1}), I({-1})}, {}, "i64[3] [1, 2, 3]"},
    {"Slice", {I({0, 1, 2, 3, 4}), I({-1}), I({kMin}), I({0}), I({-2})}, {}, "i64[3] [4, 2, 0]"},
    {"Slice", {I({0, 1, 2, 3, 4}), I({0}), I({INT64_MAX}), None(), I({2})}, {}, "i64[3] [0, 2, 4]"},
    {"Slice", {I({0, 1, 2, 3}, {2, 2}), I({1}), I({2}), I({1})}, {}, "i64[2,1] [1, 3]"},
    {"Slice", {I({0, 1, 2}), I({3}), I({1})}, {}, "i64[0] []"},
    {"Slice", {I({0, 1, 2}), I({0}), I({3}), I({0}), I({0})}, {}, "no"},
    {"Squeeze", {I({5}, {1, 1}), I({0})}, {}, "i64[1] [5]"},
    {"Squeeze", {I({5}, {1, 1})}, {}, "i64[] 5"},
    {"Squeeze", {I({5, 6}), I({0})}, {}, "no"},
    {"Unsqueeze", {S(5), I({0})}, {}, "i64[1] [5]"},
    {"Unsqueeze", {I({5, 6}), I({-1})}, {}, "i64[2,1] [5, 6]"},
    {"Unsqueeze", {S(5), I({2})}, {}, "no"},
    {"Reshape", {I({1, 2, 3, 4}), I({2, -1})}, {}, "i64[2,2] [1, 2, 3, 4]"},
    {"Reshape", {I({1, 2}), I({0, 1})}, {}, "i64[2,1] [1, 2]"},
    {"Reshape", {I({1, 2, 3}), I({2, -1})}, {}, "no"},
    {"Flatten", {I({1, 2, 3, 4}, {2, 1, 2})}, {{"axis", int64_t{2}}}, "i64[2,2] [1, 2, 3, 4]"},
    {"Transpose", {I({1, 2, 3, 4, 5, 6}, {2, 3})}, {}, "i64[3,2] [1, 4, 2, 5, 3, 6]"},
    {"Transpose", {I({1, 2}, {1, 2})}, {{"perm", std::vector<int64_t>{0, 0}}}, "no"},
    {"Expand", {I({1, 2}, {2, 1}), I({1, 3})}, {}, "i64[2,3] [1, 1, 1, 2, 2, 2]"},
    {"Expand", {I({1, 2}), I({3})}, {}, "no"},
    {"Tile", {I({1, 2}), I({2})}, {}, "i64[4] [1, 2, 1, 2]"},
    {"Split", {I({1, 2, 3}), I({1, 2})}, {}, "i64[1] [1]; i64[2] [2, 3]", 2},
    {"Split", {I({1, 2, 3})}, {{"num_outputs", int64_t{2}}}, "i64[2] [1, 2]; i64[1] [3]", 2},
    {"Split", {I({1, 2, 3}), I({1, 1})}, {}, "no", 2},
    {"Where", {B({1, 0}), I({1, 2}), S(9)}, {}, "i64[2] [1, 9]"},
    {"Identity", {F({0.5})}, {}, "f32[1] [0.5]"},
    {"sbp::StopGradient", {F({0.5})}, {}, "f32[1] [0.5]"},
    {"Concat", {Texts({"a"}), Texts({"b", "c"})}, {{"axis", int64_t{0}}}, "string[3] [\"a\", \"b\", \"c\"]"},
    {"Gather", {Texts({"a", "b"}), I({1})}, {}, "string[1] [\"b\"]"},
    {"Where", {B({1, 0}), Texts({"a", "b"}), Texts({"c", "d"})}, {}, "string[2] [\"a\", \"d\"]"},
    {"Slice", {F({1, 2, 3}, DType::kF8E4M3FN), I({1}), I({3})}, {}, "f8e4m3fn[2] [2, 3]"},
    {"ScatterND", {I({0, 0, 0}), I({1}, {1, 1}), I({7})}, {}, "i64[3] [0, 7, 0]"},
    {"ScatterND", {I({0, 0, 0}), I({3}, {1, 1}), I({7})}, {}, "no"},
    {"ScatterElements", {I({0, 0, 0}), I({-1}), I({7})}, {}, "i64[3] [0, 0, 7]"},
    {"ScatterElements", {I({0, 0}), I({0}), I({7})}, {{"reduction", std::string("add")}}, "i64[2] [7, 0]"},
    // Arithmetic
    {"Add", {I({1, 2}), S(3)}, {}, "i64[2] [4, 5]"},
    {"Add", {I({INT64_MAX}), I({1})}, {}, StrCat("i64[1] [", kMin, "]")},
    {"Add", {U8({250}), U8({10})}, {}, "u8[1] [4]"},
    {"Add", {I({1}), I32({1})}, {}, "no"},
    {"Sub", {I32({1}), I32({3})}, {}, "i32[1] [-2]"},
    {"Mul", {F({0.1}), F({3})}, {}, "f32[1] [0.30000001192092896]"},
    {"Mul", {F({2048}, DType::kF16), F({33}, DType::kF16)}, {}, "f16[1] [inf]"},
    {"Add", {F({256}, DType::kBF16), F({1}, DType::kBF16)}, {}, "bf16[1] [256]"},
    {"Div", {I({-7}), I({2})}, {}, "i64[1] [-3]"},
    {"Div", {I({1}), I({0})}, {}, "no"},
    {"Div", {I({kMin}), I({-1})}, {}, "no"},
    {"Mod", {I({-7}), I({3})}, {}, "i64[1] [2]"},
    {"Mod", {I({7}), I({0})}, {}, "no"},
    {"Mod", {F({7}), F({3})}, {}, "no"},
    {"Pow", {I({3}), I({-1})}, {}, "no"},
    {"Pow", {I({1}), I({100})}, {}, "i64[1] [1]"},
    {"Mod", {I({-7}), I({3})}, {{"fmod", int64_t{1}}}, "i64[1] [-1]"},
    {"Pow", {I({3}), I({4})}, {}, "i64[1] [81]"},
    {"Pow", {F({2}), I({-1})}, {}, "f32[1] [0.5]"},
    {"Min", {I({4, 1}), S(2), S(3)}, {}, "i64[2] [2, 1]"},
    {"Max", {F({4, 1}), F({2})}, {}, "f32[2] [4, 2]"},
    {"Clip", {I({-5, 5}), S(0), None()}, {}, "i64[2] [0, 5]"},
    {"Clip", {I({-5, 5}), None(), S(3)}, {}, "i64[2] [-5, 3]"},
    {"Abs", {I({-2})}, {}, "i64[1] [2]"},
    {"Relu", {F({-1.5, 2})}, {}, "f32[2] [0, 2]"},
    {"Relu", {I({-3, 4})}, {}, "i64[2] [0, 4]"},
    {"Neg", {I({2})}, {}, "i64[1] [-2]"},
    {"Sign", {I({-9, 0, 4})}, {}, "i64[3] [-1, 0, 1]"},
    {"Floor", {F({-0.5})}, {}, "f32[1] [-1]"},
    {"Floor", {I({1})}, {}, "no"},
    {"Ceil", {F({0.5})}, {}, "f32[1] [1]"},
    {"Round", {F({0.5, 1.5})}, {}, "f32[2] [0, 2]"},
    {"Sqrt", {F({64})}, {}, "f32[1] [8]"},
    {"Reciprocal", {F({4})}, {}, "f32[1] [0.25]"},
    {"Exp", {F({0})}, {}, "f32[1] [1]"},
    {"Log", {F({1})}, {}, "f32[1] [0]"},
    {"Cast", {F({2.9, -2.9})}, {{"to", int64_t{7}}}, "i64[2] [2, -2]"},
    {"Cast", {F({1e30})}, {{"to", int64_t{7}}}, "no"},
    {"Cast", {I({300})}, {{"to", int64_t{3}}}, "i8[1] [44]"},
    {"Cast", {I({2, 0})}, {{"to", int64_t{9}}}, "bool[2] [1, 0]"},
    {"Cast", {I({16777217})}, {{"to", int64_t{1}}}, "f32[1] [16777216]"},
    {"Cast", {I({1})}, {{"to", int64_t{8}}}, "no"},
    {"CastLike", {I({1}), F({0})}, {}, "f32[1] [1]"},
    // Comparisons and logic
    {"Equal", {I({1, 2}), S(2)}, {}, "bool[2] [0, 1]"},
    {"Less", {I({1, 2}), S(2)}, {}, "bool[2] [1, 0]"},
    {"LessOrEqual", {I({1, 3}), S(2)}, {}, "bool[2] [1, 0]"},
    {"Greater", {F({1, 3}), F({2})}, {}, "bool[2] [0, 1]"},
    {"GreaterOrEqual", {I({2, 1}), S(2)}, {}, "bool[2] [1, 0]"},
    {"And", {B({1, 1}), B({1, 0})}, {}, "bool[2] [1, 0]"},
    {"Or", {B({1, 0}), B({0, 0})}, {}, "bool[2] [1, 0]"},
    {"Xor", {B({1, 1}), B({1, 0})}, {}, "bool[2] [0, 1]"},
    {"Not", {B({1, 0})}, {}, "bool[2] [0, 1]"},
    {"And", {I({1}), I({1})}, {}, "no"},
    {"IsNaN", {F({std::numeric_limits<double>::quiet_NaN(), 1})}, {}, "bool[2] [1, 0]"},
    {"IsInf", {F({std::numeric_limits<double>::infinity(), 1})}, {{"detect_positive", int64_t{0}}}, "bool[2] [0, 0]"},
    // Along axes
    {"ReduceSum", {I({1, 2, 3, 4}, {2, 2}), I({0})}, {{"keepdims", int64_t{0}}}, "i64[2] [4, 6]"},
    {"ReduceProd", {I({2, 3, 4})}, {}, "i64[1] [24]"},
    {"ReduceProd", {I({2, 3, 4})}, {{"keepdims", int64_t{0}}}, "i64[] 24"},
    {"ReduceMax", {I({1, 5, 3, 4}, {2, 2}), I({1})}, {}, "i64[2,1] [5, 4]"},
    {"ReduceMin", {I({1, 5, 3, 4}, {2, 2}), I({-1})}, {{"keepdims", int64_t{0}}}, "i64[2] [1, 3]"},
    {"ReduceMean", {F({1, 2})}, {}, "f32[1] [1.5]"},
    {"ReduceSum", {I({1, 2})}, {{"noop_with_empty_axes", int64_t{1}}}, "i64[2] [1, 2]"},
    {"ReduceSum", {I({})}, {}, "no"},
    {"ReduceSum", {I({}, {0, 2}), I({1})}, {}, "i64[0,1] []"},
    {"ArgMax", {I({}, {2, 0})}, {{"axis", int64_t{1}}}, "no"},
    {"CumSum", {F({1, 2}), S(0)}, {}, "no"},
    {"ReduceMean", {I({1, 2})}, {}, "no"},
    {"ArgMax", {I({1, 5, 5})}, {{"keepdims", int64_t{0}}}, "i64[] 1"},
    {"ArgMax", {I({1, 5, 5})}, {{"select_last_index", int64_t{1}}}, "i64[1] [2]"},
    {"ArgMin", {I({4, 1, 5})}, {}, "i64[1] [1]"},
    {"CumSum", {I({1, 2, 3}), S(0)}, {}, "i64[3] [1, 3, 6]"},
    {"CumSum", {I({1, 2, 3}), S(0)}, {{"exclusive", int64_t{1}}, {"reverse", int64_t{1}}}, "i64[3] [5, 3, 0]"},
};

TEST(EvaluateTest, Rows) {
  for (const EvaluateRow& row : kRows) {
    std::vector<std::string> operands;
    for (const Literal& literal : row.operands) operands.push_back(ToString(literal));
    EXPECT_EQ(Answer(row), row.expected) << row.op << "(" << Join(operands, ", ") << ")";
  }
}

TEST(EvaluateTest, EveryOpHasARow) {
  for (const FoldableOp& foldable : AllFoldableOps()) {
    const bool tested = std::ranges::any_of(kRows, [&](const EvaluateRow& row) { return row.op == foldable.op; });
    EXPECT_TRUE(tested) << foldable.op;
  }
}

TEST(EvaluateTest, ConstantsWithoutValuesAreLeft) {
  Literal stripped;
  stripped.type = TensorType{DType::kI64, {3}};
  EXPECT_EQ(Answer({"Identity", {stripped}, {}, ""}), "no");
}

}  // namespace
}  // namespace sbp
