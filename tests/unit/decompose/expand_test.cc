// The language of expansions: what lines mean, and what is said of wrong ones.
#include <gtest/gtest.h>

#include "base/text.h"
#include "decompose/decompose.h"

namespace sbp {
namespace {

// The expansion of op T on operands of the given types, as one line an op: "y = Exp(x)". Known values show as {1, 2}.
std::string Expanded(std::string_view paragraph, const std::vector<std::string>& types, Attributes attributes = {},
                     size_t results = 1) {
  RuleSet rules = RuleSet::Builtin().value();
  const Status added = rules.Add(paragraph, "f");
  if (!added.ok()) return added.message();
  OpQuery query;
  query.type = "T";
  query.attributes = &attributes;
  query.wanted.assign(results, true);
  for (const std::string& type : types) {
    query.operands.push_back({type != "-", type == "-" ? TensorType() : ParseTensorType(type).value(), nullptr});
  }
  const Result<Graph> graph = ExpandOp(query, rules);
  if (!graph.ok()) return graph.status().message();
  const Status verified = Verify(*graph, "");
  if (!verified.ok()) return verified.message();
  auto name = [&](TensorId id) -> std::string {
    if (!id.valid()) return "-";
    const Tensor& tensor = graph->tensor(id);
    if (tensor.role != TensorRole::kParameter) return tensor.name;
    return StrCat(DTypeName(tensor.type.dtype), "{", ToString(*tensor.literal), "}");
  };
  std::string text;
  for (const Op& op : graph->ops) {
    std::vector<std::string> inputs, outputs;
    for (const TensorId id : op.outputs) outputs.push_back(name(id));
    for (const TensorId id : op.inputs) inputs.push_back(name(id));
    for (const auto& [key, value] : op.attributes->entries()) inputs.push_back(StrCat(key, "=", ToString(value)));
    text += StrCat(Join(outputs, ", "), " = ", graph->type_of(op), "(", Join(inputs, ", "), ")\n");
  }
  std::vector<std::string> outputs;
  for (const TensorId id : graph->outputs) outputs.push_back(name(id));
  return StrCat(text, "-> ", Join(outputs, ", "));
}

struct Row {
  const char* lines;  // below "expand"
  const char* expected;
};

TEST(Expand, LinesWriteOps) {
  const Row rows[] = {
      {"    y = Exp(x)\n", "y = Exp(x)\n-> y"},
      {"    y = x\n", "-> x"},
      // Numbers take the type of the first operand that is not bool.
      {"    y = Where(x > 0, x * 0.5, n)\n",
       "Greater = Greater(x, f32{0})\nMul = Mul(x, f32{0.5})\ny = Where(Greater, Mul, f32{3})\n-> y"},
      {"    y = Cast(Cast(1, to=\"i32\") + Cast(x, to=\"i32\"), to=\"f32\")\n",
       "Cast = Cast(x, to=6)\nAdd = Add(i32{1}, Cast)\ny = Cast(Add, to=1)\n-> y"},
      // Arithmetic of numbers is done at once, that of tensors by ops.
      {"    k = n * 2 + 1\n    y = -x + k\n", "Neg = Neg(x)\nAdd = Add(Neg, f32{7})\n-> Add"},
      // Lists: dims, ranges, splicing.
      {"    y = Reshape(Reshape(x, [dims(x), 1..2, if(n > 1, [1], [])]), [dims(x)])\n",
       "Reshape = Reshape(x, i64{[4, 6, 1, 1]})\ny = Reshape(Reshape, i64{[4, 6]})\n-> y"},
      // Copies vanish, and so does what no result needs.
      {"    z = Sqrt(x)\n    y = Transpose(Reshape(Cast(x, to=dtype(x)), [4, 6]), perm=[0, 1])\n", "-> x"},
      {"    z, _ = TopK(x, [2])\n    y = Exp(x)\n", "y = Exp(x)\n-> y"},
      // Names may be set again, under a condition.
      {"    y = x\n    y = Exp(y) when n == 3\n    y = Log(y) when n == 4\n", "y = Exp(x)\n-> y"},
      {"    y = x\n    when n == 3 && !has(b)\n      y = Exp(y)\n      y = Log(y)\n",
       "y = Exp(x)\ny_2 = Log(y)\n-> y_2"},
      // Loops, numbered names, variadic operands.
      {"    for i in 0..2\n      h[i] = x * (i + 1)\n    y = Max(h[0..2], x)\n",
       "Mul = Mul(x, f32{1})\nMul_2 = Mul(x, f32{2})\ny = Max(Mul, Mul_2, x)\n-> y"},
      // Absent operands and attributes are handed on; `*` hands on attributes by name.
      {"    y = Clip(x, b, -)\n", "y = Clip(x)\n-> y"},
      {"    y = Softmax(x, *)\n", "y = Softmax(x, axis=0)\n-> y"},
      {"    y = Softmax(x, axis=rank(x) - 1, *)\n", "y = Softmax(x, axis=1)\n-> y"},
      // A whole number is a float where the inner op asks for one; a type is a number.
      {"    y = Swish(x, alpha=2)\n", "y = Swish(x, alpha=2.0)\n-> y"},
      {"    y = x + Cast(len(list), to=dtype(y)) + list[1] + at(list, 5, 9)\n",
       "Add = Add(x, f32{2})\nAdd_2 = Add(Add, f32{8})\nAdd_3 = Add(Add_2, f32{9})\n-> Add_3"},
  };
  for (const Row& row : rows) {
    const std::string text = StrCat(
        "op T(Tensor x, Tensor b?, *, int axis=0, int n=3, int[] list=[7, 8]) -> Tensor y\n  rule ..., ... -> ...\n",
        "  expand\n", row.lines);
    EXPECT_EQ(Expanded(text, {"f32[4,6]"}), row.expected) << text;
  }
}

TEST(Expand, TakesTheFirstBlockThatHolds) {
  const char* text =
      "op T(Tensor x, *, int n) -> Tensor y\n  rule ... -> ...\n"
      "  expand when n == 1\n    y = Exp(x)\n  expand when n == 2\n    y = Log(x)\n";
  Attributes attributes;
  attributes.Set("n", int64_t{1});
  EXPECT_EQ(Expanded(text, {"f32[4]"}, attributes), "y = Exp(x)\n-> y");
  attributes.Set("n", int64_t{2});
  EXPECT_EQ(Expanded(text, {"f32[4]"}, attributes), "y = Log(x)\n-> y");
  attributes.Set("n", int64_t{3});
  EXPECT_EQ(Expanded(text, {"f32[4]"}, attributes),
            "T(): no expansion of T applies to these arguments; there is one for n == 1, or n == 2");
}

TEST(Expand, NumbersVariadicOperandsAndResults) {
  const char* text =
      "op T(Tensor r, Tensor t, Tensor<float>[] inputs) -> Tensor[] y\n  rule @update(1)\n"
      "  expand\n    for i in 0..len(y)\n      y[i] = inputs[i] - inputs[len(inputs) - 1]\n";
  // The rule is that of an optimizer: two operands first, then values, gradients and states.
  EXPECT_EQ(Expanded(text, {"f32[]", "f32[]", "f32[]", "f32[]", "f32[]"}, {}, 2),
            "Sub = Sub(inputs[0], inputs[2])\nSub_2 = Sub(inputs[1], inputs[2])\n-> Sub, Sub_2");
}

TEST(Expand, SaysWhatIsWrong) {
  const Row rows[] = {
      {"    y = Expo(x)\n", "T(): f:4:9: no op Expo (did you mean \"Exp\"?)"},
      {"    y = Exp(z)\n", "f:4:13: unknown name \"z\" (did you mean \"b\" or \"x\"?)"},
      {"    z = Exp(x)\n", "f:4:5: the expansion does not set result \"y\""},
      {"    y = Exp(x\n", "f:4:14: expected \")\" or \",\" in the arguments of Exp, found the end of the line"},
      {"    y = Exp(x) + \"a\"\n", "T(): a string cannot be an operand"},
      {"    y = x + b\n", "T(): f:4:13: an absent operand of \"+\""},
      {"    y, z = x\n", "f:4:5: only a call of an op has several results"},
      {"    y = ReduceSum(x, [0])\n", "T(): its expansion gives result y as f32[1,6], its rule as f32[4,6] (f:1:1)"},
      {"    y = Softmax(x, axes=1)\n", "T(): f:4:9: Softmax(): unknown attribute 'axes' (did you mean \"axis\"?)"},
      {"    y = x * dim(x, 2)\n", "T(): f:4:13: \"x\" has rank 2: no dimension 2"},
      {"    for i in 0..9000000\n      y = x\n",
       "T(): f:5:7: the expansion of \"T\" takes more than 65536 steps (statements run, turns of loops)"},
      {"    y = x * size(x)\n", "f:4:13: an expansion knows no factors; dim(x, i) is the size of a dimension"},
  };
  for (const Row& row : rows) {
    const std::string text =
        StrCat("op T(Tensor x, Tensor b?) -> Tensor y\n  rule ..., ... -> ...\n  expand\n", row.lines);
    EXPECT_EQ(Expanded(text, {"f32[4,6]"}), row.expected) << text;
  }
}

TEST(Expand, OpsWithoutExpansionSaySo) {
  EXPECT_EQ(Expanded("op T(Tensor x) -> Tensor y\n  rule ... -> ...\n", {"f32[4]"}), "T(): it has no expansion");
}

}  // namespace
}  // namespace sbp
