#include "strategy/evaluate.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "strategy/strategy.h"
#include "strategy/transitions.h"
#include "support/listed_problem.h"

namespace sbp {
namespace {

const std::vector<std::string> kSplitOrWhole = {"S(0) -> S(0)", "S(1) -> S(1)", "B -> B"};

// The plan in which op i takes candidate choices[i].
Result<Plan> PlanOf(const ListedProblem& made, const std::vector<uint32_t>& choices,
                    std::optional<int64_t> memory_limit = std::nullopt) {
  Plan plan;
  plan.graph = *made.graph;
  plan.mesh = made.problem.mesh;
  plan.cluster = made.problem.boxing->cluster();
  plan.options.memory_limit = memory_limit;
  Assignment assignment;
  assignment.sources = InitialSourceLayouts(made.problem);
  assignment.reasons = {"test"};
  for (uint32_t choice : choices) assignment.ops.push_back({.candidate = choice});
  const Status status = Evaluate(made.problem, assignment, plan);
  if (!status.ok()) return status;
  return plan;
}

std::vector<std::string> Transitions(const Plan& plan) {
  std::vector<std::string> lines;
  for (const Transition& t : plan.transitions) {
    std::string consumers;
    for (const Use& use : t.consumers) consumers += StrCat(" ", plan.graph.op(use.op).name, ".", use.operand);
    lines.push_back(
        StrCat(plan.graph.tensor(t.tensor).name, ": ", ToString(t.from), " -> ", ToString(t.to), ":", consumers));
  }
  return lines;
}

ListedGraph Fan() {
  ListedGraph graph;
  graph.shapes = {{"x", {16, 16}}, {"a", {16, 16}}, {"b", {16, 16}}, {"c", {16, 16}}};
  graph.inputs = {"x"};
  graph.ops = {
      {"a", {"x"}, {"a"}, kSplitOrWhole}, {"b", {"x"}, {"b"}, kSplitOrWhole}, {"c", {"x"}, {"c"}, kSplitOrWhole}};
  return graph;
}

TEST(Evaluate, ConsumersOfOneLayoutShareATransition) {
  const auto plan = PlanOf(MakeListedProblem(Fan(), *ParseMesh("4")), {2, 0, 2});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(Transitions(*plan), std::vector<std::string>{"x: S(0) -> B: a.0 c.0"});
  EXPECT_EQ(plan->total.bytes_moved, 16 * 16 * 4 * 3);  // an all-gather: T (n-1) over all ranks
  EXPECT_EQ(plan->transitions[0].reason,
            "input \"x\" starts split on dim 0 over x: parts of dim 0 needed whole by Listed \"a\" and 1 more");
}

// S(1) is a local slice of the copy that op a already had gathered.
TEST(Evaluate, StartsFromTheCheapestLayoutThatStands) {
  const auto plan = PlanOf(MakeListedProblem(Fan(), *ParseMesh("4")), {2, 1, 0});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(Transitions(*plan), (std::vector<std::string>{"x: S(0) -> B: a.0", "x: B -> S(1): b.0"}));
}

TEST(Evaluate, SquareOfAPartialTensorIsReducedOnce) {
  ListedGraph graph;
  graph.shapes = {{"x", {8, 8}}, {"p", {8, 8}}, {"y", {8, 8}}};
  graph.inputs = {"x"};
  graph.ops = {{"sum", {"x"}, {"p"}, {"S(0) -> P"}}, {"mul", {"p", "p"}, {"y"}, {"P B -> P"}}};
  const auto plan = PlanOf(MakeListedProblem(graph, *ParseMesh("2")), {0, 0});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(Transitions(*plan), std::vector<std::string>{"p: P(sum) -> B: mul.1"});
  EXPECT_EQ(plan->transitions[0].steps[0].kind, CollectiveKind::kAllReduce);
}

// Records are shared by equal decisions of equal ops.
TEST(Evaluate, EqualDecisionsShareARecord) {
  const auto plan = PlanOf(MakeListedProblem(Fan(), *ParseMesh("4")), {0, 0, 2});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->records.size(), 2u);
  EXPECT_EQ(plan->op_records, (std::vector<uint32_t>{0, 0, 1}));
}

TEST(Evaluate, ATieEndsInItsInputsLayout) {
  ListedGraph graph;
  graph.shapes = {{"x", {8, 8}}, {"w", {8, 8}}, {"new.w", {8, 8}}};
  graph.inputs = {"x"};
  graph.parameters = {"w"};
  graph.ops = {{"update", {"x"}, {"new.w"}, kSplitOrWhole}};
  ListedProblem made = MakeListedProblem(graph, *ParseMesh("2"));
  made.graph->ties = {{made.tensor("new.w"), made.tensor("w")}};
  made.problem.demands = *Demands::Of(*made.graph, made.problem.mesh, {}, OutputPolicy::kSharded);
  const auto plan = PlanOf(made, {0});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(Transitions(*plan), std::vector<std::string>{"new.w: S(0) -> B:"});
  EXPECT_NE(plan->transitions[0].reason.find("the tie to \"w\""), std::string::npos) << plan->transitions[0].reason;
}

// One op that may leave its result, an output, partial.
ListedGraph PartialOutput() {
  ListedGraph graph;
  graph.shapes = {{"x", {64, 64}}, {"y", {64, 64}}};
  graph.inputs = {"x"};
  graph.ops = {{"op", {"x"}, {"y"}, {"S(1) -> P(sum)", "S(0) -> S(0)", "B -> B"}}};
  graph.pins = {{"x", NdSbp{Sbp::Split(1)}}};
  graph.outputs = {"y"};
  return graph;
}

std::vector<std::string> Ends(const Plan& plan) {
  std::vector<std::string> ends;
  for (const NdSbp& layout : plan.output_layouts) ends.push_back(ToString(layout));
  return ends;
}

TEST(Evaluate, OutputsDoNotEndPartial) {
  ListedGraph graph = PartialOutput();
  const auto any = PlanOf(MakeListedProblem(graph, *ParseMesh("4")), {0});
  ASSERT_TRUE(any.ok());
  EXPECT_TRUE(any->transitions.empty());
  EXPECT_EQ(Ends(*any), std::vector<std::string>{"P(sum)"});
  graph.policy = OutputPolicy::kWhole;
  const auto whole = PlanOf(MakeListedProblem(graph, *ParseMesh("4")), {0});
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(Transitions(*whole), std::vector<std::string>{"y: P(sum) -> B:"});
  EXPECT_NE(whole->transitions[0].reason.find("graph output \"y\", which must end whole"), std::string::npos)
      << whole->transitions[0].reason;
  graph.policy = OutputPolicy::kSharded;
  const auto sharded = PlanOf(MakeListedProblem(graph, *ParseMesh("4")), {0});
  ASSERT_TRUE(sharded.ok());
  ASSERT_EQ(sharded->transitions.size(), 1u);
  EXPECT_FALSE(sharded->output_layouts[0].has_partial());
  EXPECT_EQ(sharded->transitions[0].to, sharded->output_layouts[0]);
  EXPECT_LE(sharded->total.seconds(), whole->total.seconds());
  EXPECT_NE(sharded->transitions[0].reason.find("graph output \"y\", which must not stay partial"), std::string::npos)
      << sharded->transitions[0].reason;
}

TEST(Evaluate, APinSaysWhereReadersStart) {
  ListedGraph graph = PartialOutput();
  graph.policy = OutputPolicy::kSharded;
  graph.shapes["z"] = graph.shapes["u"] = {64, 64};
  graph.ops.push_back({"split", {"y"}, {"z"}, kSplitOrWhole});
  graph.ops.push_back({"whole", {"y"}, {"u"}, kSplitOrWhole});
  graph.lies = {{"y", NdSbp{Sbp::Broadcast()}}};
  const auto plan = PlanOf(MakeListedProblem(graph, *ParseMesh("4")), {0, 0, 2});
  ASSERT_TRUE(plan.ok());
  // Nobody takes the partial sum, though z could have it reduced and scattered.
  EXPECT_EQ(Transitions(*plan), (std::vector<std::string>{"y: P(sum) -> B: whole.0", "y: B -> S(0): split.0"}));
  EXPECT_NE(plan->transitions[0].reason.find("and the pin y"), std::string::npos) << plan->transitions[0].reason;
  EXPECT_EQ(ToString(plan->source_layouts[1]), "P(sum)");
  // A reader that wants what was written starts from the pin all the same.
  graph.ops[1].signatures = {"P(sum) -> P(sum)"};
  const auto back = PlanOf(MakeListedProblem(graph, *ParseMesh("4")), {0, 0, 2});
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(Transitions(*back)[1], "y: B -> P(sum): split.0");
}

TEST(Evaluate, ListsWhatNothingCouldSplit) {
  ListedGraph graph;
  graph.shapes = {{"x", {8, 8}}, {"y", {8, 8}}, {"z", {8, 8}}};
  graph.inputs = {"x"};
  graph.ops = {{"sort", {"x"}, {"y"}, {"B -> B"}}, {"relu", {"y"}, {"z"}, kSplitOrWhole}};
  const auto plan = PlanOf(MakeListedProblem(graph, *ParseMesh("2")), {0, 2});
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->replicated.size(), 1u);  // z is whole by choice, which is no lack
  EXPECT_EQ(plan->graph.tensor(plan->replicated[0].tensor).name, "y");
}

TEST(Evaluate, TooLittleMemoryNamesPeakAndHolders) {
  const auto plan = PlanOf(MakeListedProblem(Fan(), *ParseMesh("4")), {2, 2, 2}, 100);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().code(), Code::kNoPlan);
  EXPECT_NE(plan.status().message().find("--memory-limit"), std::string::npos);
}

// Two wanted layouts whose paths start alike: the common part stands once, with nobody reading it.
TEST(Transitions, CommonPrefixesAreShared) {
  const Mesh mesh = *ParseMesh("2,2");
  BoxingTable boxing(mesh, *FindPreset("8xH100"));
  Tensor facts;
  facts.name = "t";
  facts.type = {DType::kF32, {1 << 12, 1 << 12}};
  const Sbp p = Sbp::Partial(), s0 = Sbp::Split(0), s1 = Sbp::Split(1), b = Sbp::Broadcast();
  const std::vector<Demand> demands = {{NdSbp{s0, b}, {{OpId(0), 0}}, 0}, {NdSbp{s0, s1}, {{OpId(1), 0}}, 1}};
  TensorDemands wanted{NdSbp{p, p}, NdSbp{p, p}, demands, {}, true};
  std::vector<TimedTransition> shared;
  NdSbp end;
  Problem problem;
  problem.boxing = std::make_shared<BoxingTable>(mesh, *FindPreset("8xH100"));
  ASSERT_TRUE(MakeTransitions(TensorId(0), facts, wanted, {}, problem, shared, end).ok());
  EXPECT_EQ(end, wanted.standing);
  double shared_seconds = 0, alone_seconds = 0;
  for (const TimedTransition& timed : shared) shared_seconds += timed.transition.seconds;
  for (const Demand& demand : demands) alone_seconds += boxing.Path(facts.type, NdSbp{p, p}, demand.layout).seconds;
  EXPECT_LT(shared_seconds, alone_seconds);
  // Every transition starts from what was written or from what an earlier one left.
  std::vector<NdSbp> stands = {NdSbp{p, p}};
  for (const TimedTransition& timed : shared) {
    const Transition& t = timed.transition;
    EXPECT_NE(std::find(stands.begin(), stands.end(), t.from), stands.end());
    ASSERT_FALSE(t.steps.empty());
    EXPECT_EQ(t.steps.front().from, t.from);
    EXPECT_EQ(t.steps.back().to, t.to);
    stands.push_back(t.to);
  }
}

}  // namespace
}  // namespace sbp
