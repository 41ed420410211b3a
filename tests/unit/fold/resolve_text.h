// Graphs to resolve, and what came out as text: shared by the tests of resolving.
#pragma once

#include <gtest/gtest.h>

#include "base/text.h"
#include "fold/resolve.h"
#include "graph/builder.h"

namespace sbp {

inline const RuleSet& Rules() {
  static const RuleSet rules = RuleSet::Builtin().value();
  return rules;
}

inline TensorType T(std::string_view text) { return ParseTensorType(text).value(); }

inline Graph Build(GraphBuilder builder) {
  Result<Graph> graph = builder.Build("test");
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return graph.ok() ? std::move(*graph) : Graph();
}

inline void AddInts(GraphBuilder& builder, std::string_view name, std::vector<int64_t> values, bool scalar = false) {
  Literal literal = scalar ? Literal::Scalar(values[0]) : Literal::Ints(std::move(values));
  const TensorType type = literal.type;
  builder.AddParameter(name, type, std::make_shared<Literal>(std::move(literal)));
}

inline Attributes Axis(int64_t axis) {
  Attributes attributes;
  attributes.Set("axis", axis);
  return attributes;
}

// One line a tensor that stays, then one line an op.
inline std::string Show(const Result<Resolved>& resolved) {
  if (!resolved.ok()) return resolved.status().message();
  std::string text;
  for (const Tensor& tensor : resolved->graph.tensors) text += StrCat(tensor.name, " ", ToString(tensor.type), "\n");
  for (const Op& op : resolved->graph.ops) text += StrCat(resolved->graph.type_of(op), "\n");
  return text;
}

}  // namespace sbp
