// Small graphs and their kernel groups, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "fold/resolve.h"
#include "fusion/kernel_groups.h"
#include "graph/builder.h"
#include "graph/graph.h"
#include "graph/kernel_groups.h"
#include "graph/tensor_type.h"
#include "rule/rule_set.h"

namespace sbp {

inline const RuleSet& Rules() {
  static const RuleSet* const rules = new RuleSet(*RuleSet::Builtin());
  return *rules;
}

inline TensorType F32(Shape shape) { return {DType::kF32, std::move(shape)}; }

// A graph from lines; ops are called as what they write.
class Lines {
 public:
  Lines& Input(std::string_view name, Shape shape) {
    builder_.AddInput(name, F32(std::move(shape)));
    return *this;
  }
  Lines& Ints(std::string_view name, std::vector<int64_t> values) {
    const auto count = static_cast<int64_t>(values.size());
    builder_.AddParameter(name, {DType::kI64, {count}},
                          std::make_shared<const Literal>(Literal::Ints(std::move(values))));
    return *this;
  }
  Lines& Op(std::string_view type, const std::vector<std::string>& inputs, const std::string& output,
            std::vector<std::pair<std::string, AttributeValue>> attributes = {}) {
    Attributes all;
    for (auto& [name, value] : attributes) all.Set(name, value);
    builder_.AddOp(type, output, inputs, {output}, all);
    return *this;
  }
  Graph Make(const std::vector<std::string>& outputs) {
    for (const std::string& output : outputs) builder_.AddOutput(output);
    Graph graph = *builder_.Build("test");
    graph.opsets[""] = 21;
    Result<Resolved> resolved = Resolve(std::move(graph), Rules(), {});
    EXPECT_TRUE(resolved.ok()) << resolved.status().message();
    return resolved.ok() ? std::move(resolved->graph) : Graph();
  }

 private:
  GraphBuilder builder_{"lines"};
};

// "light: a b", in order.
inline std::vector<std::string> GroupsOf(const Graph& graph, bool epilogue = false) {
  std::vector<std::string> texts;
  for (const KernelGroup& group : FuseOps(graph, Rules(), {.epilogue = epilogue}).groups.groups) {
    std::string text = StrCat(GroupKindName(group.kind), ":");
    for (const OpId op : group.ops) text += " " + graph.op(op).name;
    texts.push_back(std::move(text));
  }
  return texts;
}

// Names of tensors that no kernel writes.
inline std::vector<std::string> InsideOf(const Graph& graph) {
  const Fusion fusion = FuseOps(graph, Rules(), {});
  std::vector<std::string> names;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (fusion.groups.is_inside(TensorId(t))) names.push_back(graph.tensors[t].name);
  }
  return names;
}

}  // namespace sbp
