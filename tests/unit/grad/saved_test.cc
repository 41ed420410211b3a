#include "grad/saved.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grad/grad.h"
#include "graph/builder.h"
#include "graph/graph.h"
#include "graph/kept.h"
#include "rule/rule_set.h"

namespace sbp {
namespace {

const RuleSet& BuiltinForSaved() {
  static const RuleSet* rules = new RuleSet(RuleSet::Builtin().value());
  return *rules;
}

// Softmax twice, each behind a product of its own.
Graph Softmaxes() {
  GraphBuilder builder("softmaxes");
  const TensorType type = ParseTensorType("f32[8,16]").value();
  builder.AddInput("x", type);
  builder.AddParameter("w", ParseTensorType("f32[16,16]").value());
  for (const char* name : {"a", "b", "c", "d"}) builder.DescribeTensor(name, type);
  builder.AddOp("MatMul", "a", {"x", "w"}, {"a"});
  builder.AddOp("Softmax", "b", {"a"}, {"b"});
  builder.AddOp("MatMul", "c", {"b", "w"}, {"c"});
  builder.AddOp("Softmax", "d", {"c"}, {"d"});
  builder.AddOutput("d");
  return builder.Build("softmaxes").value();
}

int64_t BytesKept(const Graph& graph) {
  int64_t bytes = 0;
  for (const KeptTensor& kept : FindKept(graph)) bytes += graph.tensor(kept.tensor).type.num_bytes();
  return bytes;
}

TEST(Saved, IsTheDifferenceOfTheWholeGraphs) {
  const GradRequest request = {.loss = "sum:d"};
  const Graph custom = MakeGradGraph(Softmaxes(), BuiltinForSaved(), request).value().graph;
  GradRequest expanded = request;
  expanded.custom_vjp = "none";
  const Graph other = MakeGradGraph(Softmaxes(), BuiltinForSaved(), expanded).value().graph;
  const VjpSavings savings = FindSavedByVjps(custom, FindKept(custom), BuiltinForSaved());
  ASSERT_EQ(savings.rows.size(), 1u);
  EXPECT_EQ(savings.left_out, 0);
  const SavedByVjp& row = savings.rows[0];
  EXPECT_EQ(row.op_type, "Softmax");
  EXPECT_EQ(row.ops, 2);
  EXPECT_EQ(row.kept_bytes, BytesKept(custom));  // the results, of which one is kept for the second product, too
  EXPECT_EQ(row.saved_bytes(), BytesKept(other) - BytesKept(custom));
  EXPECT_GT(row.saved_bytes(), 0);
}

TEST(Saved, NothingWhereExpansionsAreDifferentiated) {
  const GradRequest request = {.loss = "sum:d", .custom_vjp = "none"};
  const Graph graph = MakeGradGraph(Softmaxes(), BuiltinForSaved(), request).value().graph;
  for (const SavedByVjp& row : FindSavedByVjps(graph, FindKept(graph), BuiltinForSaved()).rows)
    EXPECT_NE(row.op_type, "Softmax");
}

}  // namespace
}  // namespace sbp
