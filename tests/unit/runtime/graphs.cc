#include "unit/runtime/graphs.h"

#include <gtest/gtest.h>

#include <cstring>
#include <sstream>

#include "base/text.h"
#include "io/documents.h"
#include "runtime/execute/interpreter.h"
#include "runtime/run/tensor_store.h"

namespace sbp {

const RuleSet& TestRules() {
  static const RuleSet rules = RuleSet::Builtin().value();
  return rules;
}

Graph ReadTestGraph(const std::string& fields) {
  Result<Graph> graph = ReadGraph(StrCat(R"({"kind": "sbp_plan.graph.v1", )", fields, "}"), "test");
  if (graph.ok()) return *std::move(graph);
  ADD_FAILURE() << graph.status().message();
  return {};
}

Graph MakeTestGraph(const std::string& fields, const ResolveOptions& options) {
  Result<Resolved> resolved = Resolve(ReadTestGraph(fields), TestRules(), options);
  if (resolved.ok()) return std::move(resolved->graph);
  ADD_FAILURE() << resolved.status().message();
  return {};
}

Value TestTensor(DType dtype, Shape shape, const std::vector<double>& values) {
  Value wide = MakeTensor(DType::kF64, std::move(shape)).value();
  EXPECT_EQ(wide.view.elements(), static_cast<int64_t>(values.size()));
  if (!values.empty()) std::memcpy(wide.view.data, values.data(), values.size() * sizeof(double));
  return CastTo(wide, dtype).value();
}

Value TestSequence(std::vector<Value> entries) {
  Value value;
  value.sequence = std::make_shared<const std::vector<Value>>(std::move(entries));
  return value;
}

std::string ToText(const Value& value) {
  if (value.none) return "none";
  if (value.sequence != nullptr) {
    std::vector<std::string> entries;
    for (const Value& entry : *value.sequence) entries.push_back(ToText(entry));
    return StrCat("[", Join(entries, ", "), "]");
  }
  if (!value.present()) return "-";
  std::ostringstream text;
  text << ToString(TensorType{value.view.dtype, value.view.shape});
  const Value wide = CastTo(value, DType::kF64).value();
  for (int64_t i = 0; i < wide.view.elements(); ++i) text << " " << wide.view.as<double>()[i];
  return text.str();
}

std::string RunText(const Graph& graph, std::vector<Value> inputs) {
  LocalCompiler compiler(TestRules(), Mesh());
  InterpreterHooks hooks;
  hooks.parameter = [](const Graph& of, TensorId id) -> Result<Value> {
    const LiteralRef& literal = of.tensor(id).literal;
    if (literal == nullptr) return Defect(StrCat("no value for ", of.tensor(id).name));
    return MakeTensor(*literal);
  };
  const auto outputs = Interpreter(compiler, hooks).Run(graph, std::move(inputs));
  if (!outputs.ok()) return outputs.status().message();
  std::vector<std::string> texts;
  for (const Value& value : *outputs) texts.push_back(ToText(value));
  return Join(texts, "; ");
}

}  // namespace sbp
