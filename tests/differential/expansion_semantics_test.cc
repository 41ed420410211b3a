// Expansion semantics: every op of instances.txt that has an expansion is expanded down to primitives, which are
// executed one by one with their reference kernels, and compared with the op's own reference kernel.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <random>
#include <set>

#include "base/text.h"
#include "decompose/decompose.h"
#include "decompose/primitives.h"
#include "graph/builder.h"
#include "support/rule_cases.h"

namespace sbp::reference {
namespace {

// The op of a case as a graph of its own.
Result<Graph> GraphOf(const RuleCase& c, const RuleInstance& instance) {
  GraphBuilder builder("case");
  std::vector<std::string> inputs, outputs;
  for (size_t i = 0; i < c.operands.size(); ++i) {
    inputs.push_back(c.operands[i].present ? StrCat("operand", i) : "");
    if (!c.operands[i].present) continue;
    const TensorId id = builder.AddInput(inputs.back(), c.operands[i].type);
    builder.graph().tensor(id).literal = c.operands[i].value;
  }
  for (size_t r = 0; r < c.results; ++r) {
    outputs.push_back(StrCat("result", r));
    builder.DescribeTensor(outputs.back(), instance.results[r]);
    builder.AddOutput(outputs.back());
  }
  builder.AddOp(c.op, "op", inputs, outputs, c.attributes);
  return builder.Build("case");
}

Array ArrayOf(const Literal& literal) {
  Array a(literal.type.dtype, literal.type.shape);
  a.values = literal.floats;
  if (literal.is_integral()) a.values.assign(literal.ints.begin(), literal.ints.end());
  return a;
}

// Runs a graph of primitives; `values` holds the inputs, and all tensors afterwards.
void Interpret(const Graph& graph, std::vector<Array>& values) {
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (graph.tensors[t].role == TensorRole::kParameter) values[t] = ArrayOf(*graph.tensors[t].literal);
  }
  for (const Op& op : graph.ops) {
    const std::string& type = graph.type_of(op);
    const Kernel kernel = FindKernel(type);
    ASSERT_NE(kernel, nullptr) << "primitive " << type << " has no reference kernel";
    Call call;
    call.attributes = op.attributes.get();
    for (const TensorId id : op.inputs) {
      call.inputs.push_back(id.valid() ? &values[id.index()] : nullptr);
      call.input_pieces.push_back(WholePiece(id.valid() ? values[id.index()].shape : Shape()));
    }
    for (const TensorId id : op.outputs) {
      const TensorType type_of = id.valid() ? graph.tensor(id).type : TensorType();
      call.result_types.push_back(type_of.dtype);
      call.result_pieces.push_back(WholePiece(type_of.shape));
    }
    std::vector<Array> results = Compute(kernel, call);
    for (size_t r = 0; r < op.outputs.size(); ++r) {
      if (!op.outputs[r].valid()) continue;
      ASSERT_EQ(results[r].shape, graph.tensor(op.outputs[r]).type.shape) << op.name;
      values[op.outputs[r].index()] = std::move(results[r]);
    }
  }
}

class ExpansionRunner {
 public:
  explicit ExpansionRunner(const RuleSet& rules) : rules_(rules) {}

  void Run(const RuleCase& c) {
    SCOPED_TRACE(StrCat("instances.txt:", c.line, ": ", c.text));
    const OpQuery query = QueryOf(c);
    const auto instance = rules_.Instantiate(query);
    ASSERT_TRUE(instance.ok()) << instance.status().message();
    const auto graph = GraphOf(c, **instance);
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    const auto expanded = Decompose(*graph, rules_);
    ASSERT_TRUE(expanded.ok()) << expanded.status().message();
    for (const Op& op : expanded->ops) {
      EXPECT_NE(FindPrimitive(expanded->type_of(op)), nullptr) << expanded->type_of(op) << " is left";
    }

    std::mt19937_64 random(c.line);
    std::vector<Array> whole;
    for (const auto& o : c.operands) whole.push_back(o.present ? MakeData(o, random) : Array());
    ASSERT_NE(FindKernel(c.op), nullptr) << "no reference kernel";
    const std::vector<Array> expected = Compute(FindKernel(c.op), WholeCall(c, **instance, whole));
    std::vector<Array> values(expanded->tensors.size());
    size_t input = 0;
    for (size_t i = 0; i < whole.size(); ++i) {
      if (c.operands[i].present) values[expanded->inputs[input++].index()] = whole[i];
    }
    ASSERT_NO_FATAL_FAILURE(Interpret(*expanded, values));
    for (size_t r = 0; r < expected.size(); ++r) {
      Compare(values[expanded->outputs[r].index()], expected[r], StrCat("result ", r, "\n", Dump(*expanded)));
    }
    ++executed;
  }

  int executed = 0;

 private:
  static void Compare(const Array& actual, const Array& expected, const std::string& where) {
    ASSERT_EQ(actual.shape, expected.shape) << where;
    double largest = 1;
    for (const double v : expected.values) largest = std::isfinite(v) ? std::max(largest, std::abs(v)) : largest;
    for (size_t i = 0; i < expected.values.size(); ++i) {
      const double a = actual.values[i], b = expected.values[i];
      const bool same = a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-9 * largest;
      ASSERT_TRUE(same) << "element " << i << ": " << a << " instead of " << b << " in " << where;
    }
  }

  const RuleSet& rules_;
};

TEST(ExpansionSemantics, ExpansionsComputeWhatTheirOpsDo) {
  const auto rules = RuleSet::Builtin();
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  ExpansionRunner runner(*rules);
  std::set<std::string> tried;
  for (const RuleCase& c : ReadRuleCases(std::string(SBP_SOURCE_DIR) + "/rules/instances.txt")) {
    if (!HasExpansion(c.op, *rules) || FindPrimitive(c.op) != nullptr || FindKernel(c.op) == nullptr) continue;
    runner.Run(c);
    tried.insert(c.op);
  }
  std::cout << runner.executed << " instances of " << tried.size() << " ops expanded and executed\n";
  EXPECT_FALSE(tried.empty());
}

}  // namespace
}  // namespace sbp::reference
