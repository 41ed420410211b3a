#include <gtest/gtest.h>

#include "base/text.h"
#include "strategy/strategy.h"
#include "support/listed_problem.h"

namespace sbp {
namespace {

const std::vector<std::string> kMatMul = {"S(0) B -> S(0)", "B S(1) -> S(1)", "S(1) S(0) -> P",
                                          "P B -> P",       "B P -> P",       "B B -> B"};
const std::vector<std::string> kAdd = {"S(0) S(0) -> S(0)", "S(1) S(1) -> S(1)", "P P -> P", "B B -> B"};
const std::vector<std::string> kMul = {"S(0) S(0) -> S(0)", "S(1) S(1) -> S(1)", "P B -> P", "B P -> P", "B B -> B"};

Mesh Axes(std::vector<int64_t> sizes) {
  Mesh mesh;
  for (int64_t size : sizes) mesh.axes.push_back({StrCat("x", mesh.axes.size()), size});
  return mesh;
}

ListedGraph OneMatMul() {
  ListedGraph graph;
  graph.shapes = {{"x", {16, 8}}, {"w", {8, 32}}, {"y", {16, 32}}};
  graph.inputs = {"x"};
  graph.parameters = {"w"};
  graph.ops = {{"mm", {"x", "w"}, {"y"}, kMatMul}};
  graph.batch = {{"x", 0}, {"y", 0}};
  return graph;
}

// The price of each candidate as the sum of its terms, in registration order.
std::vector<double> Prices(const ListedProblem& made, const std::string& op, std::vector<NdSbp> produced,
                           const std::string& criterion) {
  const CriterionRow* row = *FindCriterion(criterion);
  const OpId id = made.op(op);
  const CandidateList& list = made.problem.candidates(id);
  std::vector<double> prices;
  for (uint32_t c = 0; c < list.candidates.size(); ++c) {
    double sum = 0;
    for (const PriceTerm& term : row->terms({&made.problem, id, &list, produced, {}}, c)) sum += term.value;
    prices.push_back(sum);
  }
  return prices;
}

CriterionAnswer Choose(const ListedProblem& made, const std::string& op, std::vector<NdSbp> produced,
                       const std::string& criterion) {
  const OpId id = made.op(op);
  const CandidateList& list = made.problem.candidates(id);
  std::vector<uint32_t> allowed(list.candidates.size());
  for (uint32_t c = 0; c < allowed.size(); ++c) allowed[c] = c;
  return (*FindCriterion(criterion))->choose({&made.problem, id, &list, produced, allowed});
}

// The seed's worked conditions. (S(0), B) -> S(0): x -1 batch, -3 as produced; w -2 no batch and not split, -3 as
// produced; y -1 batch.
TEST(OrderValue, MatMulByHand) {
  const ListedProblem made = MakeListedProblem(OneMatMul(), Axes({4}));
  const NdSbp s0{Sbp::Split(0)}, b{Sbp::Broadcast()};
  EXPECT_EQ(Prices(made, "mm", {s0, b}, "order-value"), (std::vector<double>{-10, 0, 0, -5, -2, -5}));
  const CriterionAnswer answer = Choose(made, "mm", {s0, b}, "order-value");
  EXPECT_EQ(answer.candidate, 0u);
  EXPECT_EQ(answer.price, -10);
  EXPECT_EQ(answer.alternative, 3);
  EXPECT_EQ(answer.alternative_price, -5);
}

// Both axes count: (S(0), B) everywhere scores -10 on the first axis and -8 on the second (x is as produced there).
TEST(OrderValue, AddsUpOverAxes) {
  const ListedProblem made = MakeListedProblem(OneMatMul(), Axes({2, 2}));
  const NdSbp data{Sbp::Split(0), Sbp::Broadcast()}, whole(2);
  const std::vector<double> prices = Prices(made, "mm", {data, whole}, "order-value");
  ASSERT_EQ(prices.size(), 36u);
  EXPECT_EQ(prices[0 * 6 + 5], -10 + -8);  // S(0) B on the first axis, all-B on the second
  EXPECT_EQ(prices[0 * 6 + 0], -10 + -1 + -5 + -1);
  const CriterionAnswer answer = Choose(made, "mm", {data, whole}, "order-value");
  EXPECT_EQ(answer.candidate, 5u);
}

// One factor of x * x partial: one operand is kept, the first registered of both ways.
TEST(CopyCost, SquareOfAPartialTensor) {
  ListedGraph graph;
  graph.shapes = {{"x", {8, 8}}, {"y", {8, 8}}};
  graph.inputs = {"x"};
  graph.ops = {{"mul", {"x", "x"}, {"y"}, kMul}};
  const ListedProblem made = MakeListedProblem(graph, Axes({2}));
  const NdSbp p{Sbp::Partial()};
  const CriterionAnswer answer = Choose(made, "mul", {p, p}, "copy-cost");
  EXPECT_EQ(answer.candidate, 2u);
  EXPECT_EQ(answer.price, 256);  // 8 x 8 f32, P -> B
}

// The number of kept inputs outranks bytes; among equals, B -> S costs 2^31 - 1 and so loses to any small gather.
TEST(CopyCost, KeepsInputsFirstThenBytes) {
  ListedGraph graph;
  graph.shapes = {{"a", {8, 8}}, {"b", {8, 8}}, {"y", {8, 8}}};
  graph.inputs = {"a", "b"};
  graph.ops = {{"add", {"a", "b"}, {"y"}, kAdd}};
  const ListedProblem made = MakeListedProblem(graph, Axes({2}));
  const NdSbp s0{Sbp::Split(0)}, s1{Sbp::Split(1)}, b{Sbp::Broadcast()};
  EXPECT_EQ(Choose(made, "add", {s0, s1}, "copy-cost").candidate, 0u);  // both keep one; first registered
  EXPECT_EQ(Choose(made, "add", {b, s1}, "copy-cost").candidate, 3u);   // gather 256 bytes rather than slice
  EXPECT_EQ(Prices(made, "add", {b, s1}, "copy-cost")[1], 2147483647.0);
}

TEST(Bytes, PricesOfOneAxis) {
  ListedGraph graph;
  graph.shapes = {{"a", {8, 8}}, {"b", {8, 8}}, {"y", {8, 8}}};
  graph.inputs = {"a", "b"};
  graph.ops = {{"add", {"a", "b"}, {"y"}, kAdd}};
  const ListedProblem made = MakeListedProblem(graph, Axes({4}));
  const NdSbp s0{Sbp::Split(0)}, b{Sbp::Broadcast()}, p{Sbp::Partial()};
  // T = 256, n = 4. S(0) -> S(1): T 3/4 = 192; S -> B: 3 T = 768; P -> S: 768; P -> B: 2 x 768; B -> S: 1.
  const std::vector<double> s0_b = Prices(made, "add", {s0, b}, "bytes");
  EXPECT_EQ(s0_b[0], 1);
  EXPECT_EQ(s0_b[1], 192 + 1);
  EXPECT_EQ(s0_b[3], 768);
  const std::vector<double> p_b = Prices(made, "add", {p, b}, "bytes");
  EXPECT_EQ(p_b[0], 768 + 1);
  EXPECT_EQ(p_b[3], 1536);
  EXPECT_EQ(Choose(made, "add", {s0, b}, "bytes").candidate, 0u);
}

TEST(Criteria, UnknownNameSuggestsTheNearest) {
  const auto row = FindCriterion("byte");
  ASSERT_FALSE(row.ok());
  EXPECT_EQ(row.status().code(), Code::kUsage);
  EXPECT_NE(row.status().message().find("\"bytes\""), std::string::npos);
}

}  // namespace
}  // namespace sbp
