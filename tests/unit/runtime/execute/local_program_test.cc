// What one device does for one op: the canonical text, and memory of what is handed on.
#include "runtime/execute/local_program.h"

#include <gtest/gtest.h>

#include <set>

#include "unit/runtime/graphs.h"
#include "unit/runtime/one_op.h"

namespace sbp {
namespace {

std::string Dumped(const OneOp& c) {
  LocalCompiler compiler(TestRules(), ParseMesh(c.mesh).value());
  const Graph graph = GraphOf(c);
  const auto prepared =
      PrepareOp(graph, graph.ops[0], ParseSignature(c.signature, compiler.mesh().num_axes()).value(), 0, &compiler);
  return prepared.ok() ? Dump(*prepared->program) : prepared.status().message();
}

TEST(LocalProgram, AKernelIsOneStep) {
  EXPECT_EQ(Dumped({"MatMul", {"f32[4,6]", "f32[6,8]"}, "", "2", "S(1), S(0) -> P(sum)"}),
            "%0 f32[4,6] S(1)\n%1 f32[6,8] S(0)\n%2 f32[4,8] P(sum)\n%2 = MatMul(%0, %1)\n");
  EXPECT_EQ(Dumped({"Abs", {"f32[4]"}, "", "2", "S(0) -> S(0)"}), "%0 f32[4] S(0)\n%1 f32[4] S(0)\n%1 = Abs(%0)\n");
}

TEST(LocalProgram, ACompositeOpIsExpandedToKernels) {
  EXPECT_EQ(Dumped({"Gemm", {"f32[4,6]", "f32[6,8]", "f32[8]"}, R"("alpha": 0.5)", "2", "S(0), B, B -> S(0)"}),
            "%0 f32[4,6] S(0)\n%1 f32[6,8] B\n%2 f32[8] B\n%3 f32[4,8] S(0)\n%4 f32[4,8] S(0)\n%5 f32[] B = 0.5\n%6 "
            "f32[4,8] S(0)\n%4 = MatMul(%0, %1)\n%6 = Mul(%4, %5)\n%3 = Add(%6, %2)\n");
  EXPECT_EQ(Dumped({"StringNormalizer", {"string[4]"}, "", "2", "B -> B"}),
            "op \"o\" (StringNormalizer): no kernel and no expansion runs StringNormalizer on string");
}

// Only where it swaps whole matrices, and nothing else reads what it writes.
TEST(LocalProgram, ProductsReadTransposedMatrices) {
  EXPECT_EQ(Dumped({"Gemm", {"f32[6,4]", "f32[8,6]"}, R"("transA": 1, "transB": 1)", "2", "S(0), S(1) -> P(sum)"}),
            "%0 f32[6,4] S(0)\n%1 f32[8,6] S(1)\n%2 f32[4,8] P(sum)\n%3 f32[4,6] S(1)\n%4 f32[6,8] S(0)\n"
            "%2 = MatMul(%0, %1)\n");
  const std::string scaled =
      Dumped({"Gemm", {"f32[6,4]", "f32[6,8]", "f32[8]"}, R"("transA": 1, "alpha": 0.5)", "2", "S(1), B, B -> S(0)"});
  EXPECT_EQ(scaled.find("Transpose"), std::string::npos) << scaled;
}

// Layouts on an axis of one device are different names of one thing.
TEST(LocalProgram, AnAxisOfOneDeviceDecidesNothing) {
  const std::string split = Dumped({"Gemm", {"f32[4,6]", "f32[6,8]", "f32[8]"}, "", "1", "S(0), B, B -> S(0)"});
  EXPECT_EQ(split, Dumped({"Gemm", {"f32[4,6]", "f32[6,8]", "f32[8]"}, "", "1", "B, B, B -> B"}));
  EXPECT_NE(split.find("MatMul"), std::string::npos) << split;
}

TEST(LocalProgram, WhatLivesTogetherDoesNotOverlap) {
  LocalCompiler compiler(TestRules(), ParseMesh("2").value());
  const Graph graph = GraphOf({"LayerNormalization", {"f32[4,6]", "f32[6]", "f32[6]"}, "", "2", "S(0), B, B -> S(0)"});
  const auto prepared = PrepareOp(graph, graph.ops[0], ParseSignature("S(0), B, B -> S(0)", 1).value(), 0, &compiler);
  ASSERT_TRUE(prepared.ok()) << prepared.status().message();
  const LocalProgram& program = *prepared->program;
  ASSERT_GT(program.steps.size(), 3U);
  const size_t first = program.num_operands + program.num_results;
  // First and last step that touches each slot.
  std::vector<std::pair<size_t, size_t>> life(program.slots.size(), {program.steps.size(), 0});
  for (size_t s = 0; s < program.steps.size(); ++s) {
    for (const std::vector<int32_t>* list : {&program.steps[s].inputs, &program.steps[s].outputs}) {
      for (const int32_t slot : *list) {
        if (slot < 0) continue;
        life[slot].first = std::min(life[slot].first, s);
        life[slot].second = std::max(life[slot].second, s);
      }
    }
  }
  int64_t total = 0;
  for (size_t a = first; a < program.slots.size(); ++a) {
    const LocalSlot& slot = program.slots[a];
    if (slot.constant != nullptr) {
      EXPECT_EQ(slot.offset, -1);
      EXPECT_TRUE(slot.value.present());
      continue;
    }
    total += slot.bytes;
    EXPECT_GE(slot.offset, 0);
    EXPECT_EQ(slot.offset % 64, 0);
    EXPECT_LE(slot.offset + slot.bytes, program.workspace_bytes);
    for (size_t b = first; b < a; ++b) {
      const LocalSlot& other = program.slots[b];
      if (other.constant != nullptr || life[a].first > life[b].second || life[b].first > life[a].second) continue;
      EXPECT_TRUE(slot.offset + slot.bytes <= other.offset || other.offset + other.bytes <= slot.offset)
          << "%" << a << " and %" << b << " in\n"
          << Dump(program);
    }
  }
  EXPECT_GT(total, 0);
}

TEST(LocalProgram, EqualQuestionsShareOneProgram) {
  LocalCompiler compiler(TestRules(), ParseMesh("2").value());
  const Graph graph = GraphOf({"Softmax", {"f32[4,6]"}, "", "2", "S(0) -> S(0)"});
  OpForm form{"Softmax", graph.ops[0].attributes, ParseSignature("S(0) -> S(0)", 1).value(), {true}, {TensorType{}}};
  const auto compile = [&](Shape shape) {
    return compiler.Compile(form, {{DType::kF32, std::move(shape)}}, {nullptr}).value();
  };
  const LocalProgramRef first = compile({4, 6});
  EXPECT_EQ(first, compile({4, 6}));
  EXPECT_NE(first, compile({4, 8}));
  form.signature = ParseSignature("B -> B", 1).value();
  EXPECT_NE(first, compile({4, 6}));
}

}  // namespace
}  // namespace sbp
