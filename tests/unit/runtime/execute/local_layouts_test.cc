// Layouts inside expansions.
#include "runtime/execute/local_layouts.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "decompose/decompose.h"
#include "rule/op_query.h"
#include "unit/runtime/graphs.h"
#include "unit/runtime/one_op.h"

namespace sbp {
namespace {

struct ChangeRow {
  const char *from, *to;
  bool local;
};

TEST(LocalLayouts, LocalChangesMoveNothing) {
  const ChangeRow rows[] = {
      {"B", "B", true},
      {"B", "S(0)", true},
      {"B", "P(sum)", true},
      {"S(0)", "P(sum)", true},
      {"S(0)", "S(0)", true},
      {"S(0)", "B", false},
      {"P(sum)", "B", false},
      {"P(sum)", "S(0)", false},
      {"P(sum)", "P(max)", false},
      {"S(0)", "S(1)", false},
      {"(B, B)", "(S(0), S(1))", true},
      {"(B, B)", "(S(0), S(0))", true},
      {"(S(0), B)", "(S(0), S(0))", true},
      {"(B, S(0))", "(S(0), S(0))", false},  // an outer cut of what is cut already would move rows
      {"(S(0), B)", "(S(0), P(sum))", true},
      {"(S(0), S(0))", "(S(0), P(sum))", true},
      {"(S(0), S(1))", "(P(sum), P(sum))", true},
      {"(S(0), B)", "(B, S(0))", false},
  };
  for (const ChangeRow& row : rows) {
    EXPECT_EQ(IsLocalChange(ParseNdSbp(row.from).value(), ParseNdSbp(row.to).value()), row.local)
        << row.from << " -> " << row.to;
  }
}

// The inner signatures of the op's expansion, one a line, or the error.
std::string LaidOut(const OneOp& c) {
  const Graph graph = GraphOf(c);
  const Mesh mesh = ParseMesh(c.mesh).value();
  const Signature signature = ParseSignature(c.signature, mesh.num_axes()).value();
  const OpQuery query = QueryFor(graph, TestRules(), graph.ops[0]);
  const Result<Graph> inner = ExpandOp(query, TestRules());
  if (!inner.ok()) return inner.status().message();
  const ExpansionInputs inputs{signature.inputs, HalosOf(TestRules().Instantiate(query).value(), signature, mesh)};
  const auto signatures = LayOutExpansion(*inner, TestRules(), mesh, inputs, signature.outputs);
  if (!signatures.ok()) return signatures.status().message();
  std::string text;
  for (size_t o = 0; o < signatures->size(); ++o) {
    text += StrCat(inner->type_of(inner->ops[o]), ": ", ToString((*signatures)[o]), "\n");
  }
  return text;
}

TEST(LocalLayouts, Expansions) {
  EXPECT_EQ(LaidOut({"Softmax", {"f32[4,6]"}, R"("axis": -1)", "2", "S(0) -> S(0)"}),
            "ReduceMax: S(0), B -> S(0)\nSub: S(0), S(0) -> S(0)\nExp: S(0) -> S(0)\nReduceSum: S(0), B -> S(0)\nDiv: "
            "S(0), S(0) -> S(0)\n");
  EXPECT_EQ(LaidOut({"Softmax", {"f32[4,6]"}, R"("axis": -1)", "2", "B -> B"}),
            "ReduceMax: B, B -> B\nSub: B, B -> B\nExp: B -> B\nReduceSum: B, B -> B\nDiv: B, B -> B\n");
  EXPECT_EQ(LaidOut({"Gemm", {"f32[4,6]", "f32[6,8]", "f32[8]"}, "", "2", "S(1), S(0), P(sum) -> P(sum)"}),
            "MatMul: S(1), S(0) -> P(sum)\nAdd: P(sum), P(sum) -> P(sum)\n");
  EXPECT_EQ(LaidOut({"Gemm",
                     {"f32[4,6]", "f32[6,8]", "f32[8]"},
                     "",
                     "2,2",
                     "(S(0), S(1)), (B, S(0)), (B, P(sum)) -> (S(0), P(sum))"}),
            "MatMul: (S(0), S(1)), (B, S(0)) -> (S(0), P(sum))\nAdd: (S(0), P(sum)), (B, P(sum)) -> (S(0), P(sum))\n");
}

// What the op holds of its neighbours, an inner op needs.
TEST(LocalLayouts, HalosAreHandedOn) {
  const char* attributes = R"("kernel_shape": [1, 3], "pads": [0, 1, 0, 1], "activation": "Relu")";
  EXPECT_EQ(LaidOut({"com.microsoft::FusedConv",
                     {"f32[1,2,4,8]", "f32[2,2,1,3]"},
                     attributes,
                     "2,2",
                     "(S(2), S(3)), (B, B) -> (S(2), S(3))"}),
            "Conv: (S(2), S(3)), (B, B) -> (S(2), S(3))\nRelu: (S(2), S(3)) -> (S(2), S(3))\n");
}

TEST(LocalLayouts, WhatMustMoveIsAnError) {
  EXPECT_EQ(LaidOut({"Softmax", {"f32[4,6]"}, R"("axis": -1)", "2", "S(1) -> S(1)"}),
            "its expansion cannot be laid out without moving data beyond Sub");
  EXPECT_EQ(LaidOut({"Softmax", {"f32[4,6]"}, R"("axis": -1)", "2", "S(0) -> B"}),
            "its expansion cannot be laid out without moving data beyond Div");
}

}  // namespace
}  // namespace sbp
