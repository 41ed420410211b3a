// What a page says of why, against explain of each op.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "explain/explain.h"
#include "graph/builder.h"
#include "page/sections.h"
#include "pipeline/pipeline.h"

namespace sbp {
namespace {

// Two equal blocks, x w relu, of which only the second has a pin.
Graph TwoBlocks() {
  GraphBuilder b("blocks");
  const TensorType type{DType::kF32, {8, 64}};
  b.AddInput("x", type);
  for (const char* name : {"w0", "w1"}) b.AddParameter(name, {DType::kF32, {64, 64}});
  b.AddOp("MatMul", "fc0", {"x", "w0"}, {"h0"});
  b.AddOp("Relu", "act0", {"h0"}, {"y0"});
  b.AddOp("MatMul", "fc1", {"y0", "w1"}, {"h1"});
  b.AddOp("Relu", "act1", {"h1"}, {"y1"});
  for (const char* name : {"h0", "y0", "h1", "y1"}) b.DescribeTensor(name, type);
  b.AddOutput("y1");
  return *b.Build("blocks");
}

// Two equal ops after two equal ops; what the second reads, another one reads too.
Graph OneIsSharedGraph() {
  GraphBuilder b("shared");
  const TensorType type{DType::kF32, {8, 64}};
  b.AddInput("x", type);
  for (const char* name : {"w0", "w1"}) b.AddParameter(name, {DType::kF32, {64, 64}});
  b.AddOp("MatMul", "fc0", {"x", "w0"}, {"h0"});
  b.AddOp("MatMul", "fc1", {"x", "w1"}, {"h1"});
  b.AddOp("Softmax", "own", {"h0"}, {"y0"});
  b.AddOp("Softmax", "shared", {"h1"}, {"y1"});
  b.AddOp("Softmax", "other", {"h1"}, {"y2"});
  for (const char* name : {"h0", "h1", "y0", "y1", "y2"}) b.DescribeTensor(name, type);
  for (const char* name : {"y0", "y1", "y2"}) b.AddOutput(name);
  return *b.Build("shared");
}

class ExplainSectionTest : public testing::Test {
 protected:
  Plan PlanOf(const std::vector<std::string>& pins, const std::string& strategy = "greedy", Graph graph = TwoBlocks()) {
    PlanRequest request;
    request.model_path = "blocks";
    request.graph = std::move(graph);
    request.mesh = *ParseMesh("data=2,model=2");
    request.cluster = *FindPreset("8xH100");
    request.options.strategy = strategy;
    for (const std::string& pin : pins) request.pins.emplace_back(pin, "--pin");
    request.rules = &rules_;
    return *MakePlan(std::move(request));
  }
  RuleSet rules_ = *RuleSet::Builtin();
};

// The pins that the page tells of an op: its own, and those of tensors around it.
std::vector<std::string> PinsAround(const Graph& graph, OpId op, const Json& section) {
  std::set<uint32_t> around;
  for (const auto* side : {&graph.op(op).inputs, &graph.op(op).outputs}) {
    for (const TensorId tensor : *side) around.insert(tensor.value);
  }
  std::set<std::string> pins;
  const auto add = [&](const Json& row) {
    for (const Json& text : row[1]) pins.insert(section["texts"][text.get<size_t>()].get<std::string>());
  };
  for (const Json& row : section["op_pins"]) {
    if (row[0] == op.index()) add(row);
  }
  for (const Json& row : section["pins"]) {
    if (around.contains(row[0].get<uint32_t>())) add(row);
  }
  return {pins.begin(), pins.end()};
}

// What the sections hold of every op is what `explain` says of it.
void ExpectAllExplained(const Plan& plan, const RuleSet& rules) {
  const Result<Problem> problem = RebuildProblem(plan, rules);
  ASSERT_TRUE(problem.ok()) << problem.status().message();
  const PageOptions options{.problem = &*problem};
  const PageFacts facts = FindPageFacts(plan, options);
  const Json section = ExplainSection(facts), tensors = TensorsSection(facts);
  ASSERT_EQ(section["of_op"].size(), plan.graph.ops.size());
  for (size_t i = 0; i < plan.graph.ops.size(); ++i) {
    const int64_t entry = section["of_op"][i];
    ASSERT_GE(entry, 0) << plan.graph.ops[i].name;
    const Json& told = section["entries"][static_cast<size_t>(entry)];
    const Result<ExplainedOp> explained = ExplainOp(*problem, plan, OpId(i));
    ASSERT_TRUE(explained.ok());
    EXPECT_EQ(PinsAround(plan.graph, OpId(i), tensors), explained->pins) << plan.graph.ops[i].name;
    EXPECT_EQ(told["rule"], explained->rule);
    EXPECT_EQ(told["count"], explained->candidates.size());
    const std::vector<size_t> order = CandidatesByPrice(*explained);
    for (size_t c = 0; c < told["candidates"].size(); ++c) {
      const ExplainedCandidate& candidate = explained->candidates[order[c]];
      EXPECT_EQ(told["candidates"][c]["signature"], SignatureText(candidate.signature, *explained, {}));
      EXPECT_EQ(told["candidates"][c]["chosen"], candidate.chosen);
      EXPECT_EQ(told["candidates"][c]["compute"], candidate.compute_seconds);
      EXPECT_EQ(told["candidates"][c]["extra"], candidate.extra_seconds) << plan.graph.ops[i].name;
      EXPECT_EQ(told["candidates"][c]["terms"].size(), candidate.chosen ? candidate.prices.size() : 0);
    }
  }
}

TEST_F(ExplainSectionTest, SaysWhatExplainSays) { ExpectAllExplained(PlanOf({"w1=(B, S(0))"}), rules_); }

// With the other reader's boxing there, the shared one costs nothing as that reader takes it.
TEST_F(ExplainSectionTest, OpsThatShareWhatTheyReadHavePricesOfTheirOwn) {
  const std::vector<std::string> pins = {"h0<-(S(0), B)", "h1<-(S(0), B)", "other: (B, B) -> (B, B)"};
  ExpectAllExplained(PlanOf(pins, "greedy", OneIsSharedGraph()), rules_);
}

// What forcing costs is what `explain` finds of the op that is told, as far as both prove it.
TEST_F(ExplainSectionTest, ForcesWhatExplainForces) {
  const Plan plan = PlanOf({"w1=(B, S(0))"}, "optimal");
  const Result<Problem> problem = RebuildProblem(plan, rules_);
  ASSERT_TRUE(problem.ok()) << problem.status().message();
  const PageOptions options{.problem = &*problem};
  const Json section = ExplainSection(FindPageFacts(plan, options));
  size_t forced = 0;
  for (const Json& told : section["entries"]) {
    const Result<ExplainedOp> explained = ExplainOp(*problem, plan, OpId(told["first"].get<uint32_t>()));
    ASSERT_TRUE(explained.ok());
    for (const Json& candidate : told["candidates"]) {
      EXPECT_EQ(candidate["prices"].size(), section["criteria"].size());
      if (candidate["forced"].is_null()) continue;
      ++forced;
      const auto same = std::ranges::find_if(explained->candidates, [&](const ExplainedCandidate& other) {
        return SignatureText(other.signature, *explained, {}) == candidate["signature"];
      });
      ASSERT_NE(same, explained->candidates.end());
      ASSERT_TRUE(same->forced);
      const double noise = 1e-9 * plan.total.seconds();
      const auto end = [&](size_t i) {
        return candidate["forced"][i].is_null() ? INFINITY : candidate["forced"][i].get<double>();
      };
      EXPECT_GE(end(1), same->forced->at_least - noise);
      EXPECT_LE(end(0), same->forced->at_most + noise);
    }
  }
  EXPECT_GE(forced, 4U);  // two of each type of op
}

TEST_F(ExplainSectionTest, WithoutAProblemThePlanAloneSpeaks) {
  EXPECT_EQ(ExplainSection(FindPageFacts(PlanOf({}), {})), nullptr);
}

}  // namespace
}  // namespace sbp
