// Whole plans of small graphs, by hand-known properties.
#include <gtest/gtest.h>

#include "base/text.h"
#include "explain/explain.h"
#include "graph/builder.h"
#include "graph/producers.h"
#include "pipeline/pipeline.h"

namespace sbp {
namespace {

TensorType F32(Shape shape) { return {DType::kF32, std::move(shape)}; }

// y = x + (relu(x w1 + b1) w2 + b2), the feed-forward block of a transformer.
Graph Mlp() {
  GraphBuilder b("mlp");
  b.AddInput("x", F32({8, 16, 64}));
  b.AddParameter("w1", F32({64, 256}));
  b.AddParameter("b1", F32({256}));
  b.AddParameter("w2", F32({256, 64}));
  b.AddParameter("b2", F32({64}));
  b.AddOp("MatMul", "fc1", {"x", "w1"}, {"h0"});
  b.AddOp("Add", "bias1", {"h0", "b1"}, {"h1"});
  b.AddOp("Relu", "act", {"h1"}, {"h2"});
  b.AddOp("MatMul", "fc2", {"h2", "w2"}, {"h3"});
  b.AddOp("Add", "bias2", {"h3", "b2"}, {"h4"});
  b.AddOp("Add", "residual", {"x", "h4"}, {"y"});
  for (const char* name : {"h0", "h1", "h2"}) b.DescribeTensor(name, F32({8, 16, 256}));
  for (const char* name : {"h3", "h4", "y"}) b.DescribeTensor(name, F32({8, 16, 64}));
  b.AddOutput("y");
  return *b.Build("mlp");
}

class PlanTest : public testing::Test {
 protected:
  PlanRequest Request(Graph graph, const char* mesh, const char* strategy, const char* criterion = "bytes",
                      const std::vector<std::string>& pins = {}) {
    PlanRequest request;
    request.model_path = "mlp";
    request.graph = std::move(graph);
    request.mesh = *ParseMesh(mesh);
    request.cluster = *FindPreset("8xH100");
    request.options.strategy = strategy;
    request.options.criterion = criterion;
    for (const std::string& pin : pins) request.pins.emplace_back(pin, "--pin");
    request.rules = &rules_;
    return request;
  }
  RuleSet rules_ = *RuleSet::Builtin();
};

std::string SignatureOf(const Plan& plan, const char* op) {
  return ToString(plan.decision(NameIndex(plan.graph).op(op)).signature);
}

std::vector<std::string> Collectives(const Plan& plan) {
  std::vector<std::string> lines;
  for (const Transition& transition : plan.transitions) {
    for (const BoxingStep& step : transition.steps) {
      lines.push_back(StrCat(CollectiveKindName(step.kind), " ", plan.graph.tensor(transition.tensor).name, " over ",
                             plan.mesh.axes[step.axis].name));
    }
  }
  return lines;
}

const std::vector<std::string> kMegatronWeights = {"w1=(B, S(1))", "b1=(B, S(0))", "w2=(B, S(0))"};

// Slices picked per index are weights only where they follow from parameters alone.
TEST_F(PlanTest, GatheredWeights) {
  for (const bool weights : {true, false}) {
    GraphBuilder b("experts");
    if (weights)
      b.AddParameter("w", F32({4, 8, 16}));
    else
      b.AddInput("w0", F32({1, 4, 8, 16}));
    b.AddInput("index", {DType::kI64, {64}});
    if (!weights) b.AddOp("Squeeze", "squeeze", {"w0"}, {"w"});
    b.AddOp("Gather", "pick", {"w", "index"}, {"y"});
    b.DescribeTensor("w", F32({4, 8, 16}));
    b.DescribeTensor("y", F32({64, 8, 16}));
    b.AddOutput("y");
    const Result<Plan> plan = MakePlan(Request(*b.Build("experts"), "x=2", "greedy"));
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    const std::string warnings = Join(plan->warnings, "\n");
    EXPECT_EQ(warnings.find("weights are gathered once per index") != std::string::npos, weights) << warnings;
  }
}

TEST_F(PlanTest, DataParallelNeedsNoCollective) {
  for (const char* criterion : {"order-value", "copy-cost", "bytes"}) {
    const auto plan = MakePlan(Request(Mlp(), "data=4", "greedy", criterion));
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_TRUE(plan->transitions.empty()) << criterion;
    EXPECT_EQ(SignatureOf(*plan, "fc1"), "S(0), B -> S(0)") << criterion;
  }
}

TEST_F(PlanTest, MegatronPinnedTakesOneAllReduce) {
  std::vector<std::string> pins = kMegatronWeights;
  pins.emplace_back("x=(S(0), B)");
  pins.emplace_back("h4<-(S(0), B)");
  const auto plan = MakePlan(Request(Mlp(), "data=2,model=4", "greedy", "bytes", pins));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(SignatureOf(*plan, "fc1"), "(S(0), B), (B, S(1)) -> (S(0), S(2))");
  EXPECT_EQ(SignatureOf(*plan, "fc2"), "(S(0), S(2)), (B, S(0)) -> (S(0), P(sum))");
  EXPECT_EQ(Collectives(*plan), std::vector<std::string>{"all-reduce h3 over model"});
  EXPECT_NE(plan->transitions[0].reason.find("MatMul \"fc2\" reduces k over model"), std::string::npos)
      << plan->transitions[0].reason;
}

// A chain of four products: where w0 and w2 are split by columns, w1 and w3 start split by rows.
TEST_F(PlanTest, EinsumUpdatesParametersToWhatTheirReadersMerge) {
  GraphBuilder b("chain");
  b.AddInput("t0", {DType::kF32, {512, 1024}});
  for (int i = 0; i < 4; ++i) {
    b.AddParameter(StrCat("w", i), {DType::kF32, {1024, 1024}});
    b.AddOp("MatMul", StrCat("m", i), {StrCat("t", i), StrCat("w", i)}, {StrCat("t", i + 1)});
    b.DescribeTensor(StrCat("t", i + 1), {DType::kF32, {512, 1024}});
  }
  b.AddOutput("t4");
  const auto plan = MakePlan(Request(*b.Build("chain"), "model=4", "einsum", "bytes", {"w0=S(1)", "w2=S(1)"}));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const NameIndex names(plan->graph);
  const auto starts = [&](const char* name) { return ToString(plan->source_layouts[names.tensor(name).index()]); };
  EXPECT_EQ(starts("w0"), "S(1)");
  EXPECT_EQ(starts("w1"), "S(0)");
  EXPECT_EQ(starts("w2"), "S(1)");
  EXPECT_EQ(starts("w3"), "S(0)");
  EXPECT_EQ(plan->memory.parameter_bytes, 4 * 1024 * 1024);
  for (const Transition& transition : plan->transitions) {
    EXPECT_EQ(plan->graph.tensor(transition.tensor).role, TensorRole::kActivation);
  }
}

// One all-reduce of the result, and not a gathering of both operands.
TEST_F(PlanTest, APinnedOutputIsReducedOnce) {
  GraphBuilder b("contraction");
  b.AddInput("x", {DType::kF32, {1024, 4096}});
  b.AddParameter("w", {DType::kF32, {4096, 1024}});
  b.AddOp("MatMul", "mm", {"x", "w"}, {"y"});
  b.DescribeTensor("y", {DType::kF32, {1024, 1024}});
  b.AddOutput("y");
  const Graph graph = *b.Build("contraction");
  for (const char* strategy : {"optimal", "einsum", "greedy"}) {
    const auto plan = MakePlan(Request(graph, "k=4", strategy, "time", {"x=S(1)", "w=S(0)", "y=B"}));
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(SignatureOf(*plan, "mm"), "S(1), S(0) -> P(sum)") << strategy;
    EXPECT_EQ(Collectives(*plan), std::vector<std::string>{"all-reduce y over k"}) << strategy;
    EXPECT_NE(plan->transitions[0].reason.find("the pin y=B"), std::string::npos) << plan->transitions[0].reason;
    EXPECT_EQ(plan->output_layouts, std::vector<NdSbp>{NdSbp{Sbp::Broadcast()}});
  }
  const auto written = MakePlan(Request(graph, "k=4", "optimal", "time", {"x=S(1)", "w=S(0)", "y<-B"}));
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_EQ(SignatureOf(*written, "mm"), "B, B -> B");
}

TEST_F(PlanTest, GatheredPinnedWeightsAreOneWarning) {
  GraphBuilder b("many");
  b.AddInput("t0", {DType::kF32, {8, 4096}});
  std::vector<std::string> pins = {"t0=B"};
  for (int i = 0; i < 5; ++i) {
    b.AddParameter(StrCat("w", i), {DType::kF32, {4096, 4096}});
    b.AddOp("MatMul", StrCat("m", i), {StrCat("t", i), StrCat("w", i)}, {StrCat("t", i + 1)});
    b.DescribeTensor(StrCat("t", i + 1), {DType::kF32, {8, 4096}});
    pins.push_back(StrCat("m", i, ": B, B -> B"));
  }
  pins.emplace_back("w*=S(1)");
  b.AddOutput("t5");
  const Graph graph = *b.Build("many");
  const auto plan = MakePlan(Request(graph, "model=4", "greedy", "bytes", pins));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const auto is_warning = [](const std::string& text) { return text.find("pinned weights are boxed") != text.npos; };
  ASSERT_EQ(std::count_if(plan->warnings.begin(), plan->warnings.end(), is_warning), 1);
  const std::string text = *std::find_if(plan->warnings.begin(), plan->warnings.end(), is_warning);
  EXPECT_NE(text.find("5 pinned weights"), std::string::npos) << text;
  EXPECT_NE(text.find("\"w0\", \"w1\", \"w2\" and 2 more"), std::string::npos) << text;
  EXPECT_NE(text.find("w0==S(1)"), std::string::npos) << text;
  // Pinned for every use, there is nothing to gather; a use pinned otherwise contradicts that.
  const auto everywhere = MakePlan(Request(graph, "model=4", "greedy", "bytes", {"t0=B", "w*==S(1)"}));
  ASSERT_TRUE(everywhere.ok()) << everywhere.status().message();
  for (const Transition& transition : everywhere->transitions) {
    EXPECT_EQ(everywhere->graph.tensor(transition.tensor).role, TensorRole::kActivation);
  }
  EXPECT_EQ(std::count_if(everywhere->warnings.begin(), everywhere->warnings.end(), is_warning), 0);
}

TEST_F(PlanTest, EinsumFindsMegatronFromWeightsAlone) {
  const auto plan = MakePlan(Request(Mlp(), "model=4", "einsum", "bytes", {"w1=S(1)", "w2=S(0)"}));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(SignatureOf(*plan, "fc1"), "B, S(1) -> S(2)");
  EXPECT_EQ(SignatureOf(*plan, "bias1"), "S(2), S(0) -> S(2)");
  EXPECT_EQ(SignatureOf(*plan, "fc2"), "S(2), S(0) -> P(sum)");
  EXPECT_EQ(SignatureOf(*plan, "residual"), "B, B -> B");
  EXPECT_EQ(Collectives(*plan), std::vector<std::string>{"all-reduce h3 over model"});
  // The partial sum must be resolved before it is added to what is whole: the one merge that overrode a layout.
  ASSERT_EQ(plan->conflicts.size(), 1u);
  EXPECT_EQ(plan->conflicts[0].where, "op \"bias2\", tensor \"h3\"");
  EXPECT_EQ(plan->conflicts[0].given, "P(sum)");
  EXPECT_EQ(plan->conflicts[0].used, "B");
}

TEST_F(PlanTest, EinsumWithoutPinsSpreadsTheBatch) {
  const auto plan = MakePlan(Request(Mlp(), "data=2,model=2", "einsum"));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(SignatureOf(*plan, "residual"), "(S(0), B), (S(0), B) -> (S(0), B)");
  EXPECT_TRUE(plan->transitions.empty());
}

TEST_F(PlanTest, ReplicateIsWholeEverywhere) {
  const auto plan = MakePlan(Request(Mlp(), "data=2,model=2", "replicate"));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(SignatureOf(*plan, "fc1"), "(B, B), (B, B) -> (B, B)");
  EXPECT_TRUE(plan->transitions.empty());
  EXPECT_TRUE(plan->replicated.empty());  // by choice, not for lack of a legal split
}

TEST_F(PlanTest, OneDeviceIsSplitByConvention) {
  for (const char* strategy : {"greedy", "einsum"}) {
    const auto plan = MakePlan(Request(Mlp(), "1", strategy, "order-value"));
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(SignatureOf(*plan, "fc2"), "S(0), S(0) -> S(0)");
    EXPECT_TRUE(plan->transitions.empty());
  }
}

TEST_F(PlanTest, EveryStrategyAndCriterionOnThreeAxesTwiceAlike) {
  for (const StrategyRow& strategy : AllStrategies()) {
    if (strategy.name == "fixed") continue;
    for (const CriterionRow& criterion : AllCriteria()) {
      const std::string strategy_name(strategy.name), criterion_name(criterion.name);
      const auto first = MakePlan(Request(Mlp(), "2,2,2", strategy_name.c_str(), criterion_name.c_str()));
      const auto second = MakePlan(Request(Mlp(), "2,2,2", strategy_name.c_str(), criterion_name.c_str()));
      ASSERT_TRUE(first.ok()) << first.status().message();
      EXPECT_EQ(Dump(*first), Dump(*second)) << strategy_name << " " << criterion_name;
    }
  }
}

TEST_F(PlanTest, FixedPricesAnAssignmentLikeTheStrategyThatFoundIt) {
  const auto greedy = MakePlan(Request(Mlp(), "2,2", "greedy", "bytes", {"w1=(B, S(1))"}));
  ASSERT_TRUE(greedy.ok()) << greedy.status().message();
  PlanRequest request = Request(Mlp(), "2,2", "fixed");
  for (size_t o = 0; o < greedy->graph.ops.size(); ++o) {
    request.strategy.given_signatures.push_back(greedy->decision(OpId(o)).signature);
  }
  request.strategy.given_sources = greedy->source_layouts;
  const auto fixed = MakePlan(request);
  ASSERT_TRUE(fixed.ok()) << fixed.status().message();
  EXPECT_EQ(fixed->total.seconds(), greedy->total.seconds());
  EXPECT_EQ(Collectives(*fixed), Collectives(*greedy));
  request.strategy.given_signatures[0].outputs[0] = NdSbp{Sbp::Partial(ReduceKind::kMax), Sbp::Broadcast()};
  const auto illegal = MakePlan(request);
  ASSERT_FALSE(illegal.ok());
  EXPECT_EQ(illegal.status().code(), Code::kNoPlan);
  EXPECT_NE(illegal.status().message().find("it has"), std::string::npos);
}

TEST_F(PlanTest, StagesAreAnnouncedInOrder) {
  std::vector<std::string> seen;
  StageObserver observer;
  observer.begin = [&](std::string_view stage) { seen.emplace_back(stage); };
  observer.dump = [&](int number, std::string_view stage, const std::function<std::string()>& dump) {
    seen.push_back(StrCat(number, " ", stage, dump().empty() ? " empty" : ""));
  };
  ASSERT_TRUE(MakePlan(Request(Mlp(), "2", "greedy"), observer).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"graph", "1 graph", "problem", "2 problem", "strategy", "3 strategy",
                                            "bound", "4 bound", "evaluate", "5 evaluate"}));
}

TEST_F(PlanTest, ExplainPricesEveryCandidate) {
  std::vector<std::string> pins = kMegatronWeights;
  pins.emplace_back("h4=(S(0), B)");
  const auto plan = MakePlan(Request(Mlp(), "data=2,model=2", "greedy", "bytes", pins));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const auto problem = RebuildProblem(*plan, rules_);
  ASSERT_TRUE(problem.ok()) << problem.status().message();
  const OpId fc2 = NameIndex(plan->graph).op("fc2");
  const auto explained = ExplainOp(*problem, *plan, fc2);
  ASSERT_TRUE(explained.ok()) << explained.status().message();
  EXPECT_EQ(explained->pins, std::vector<std::string>{"w2=(B, S(0))"});
  size_t chosen = 0;
  for (const ExplainedCandidate& candidate : explained->candidates) {
    if (!candidate.chosen) continue;
    ++chosen;
    EXPECT_EQ(candidate.extra_seconds, 0);
    EXPECT_EQ(candidate.prices.size(), AllCriteria().size());
  }
  EXPECT_EQ(chosen, 1u);
  EXPECT_EQ(explained->candidates.size(), problem->candidates(fc2).candidates.size());
  // What leaves fc2 is partial over the model axis: its collective is among those the choice causes.
  ASSERT_FALSE(explained->collectives.empty());
  EXPECT_EQ(explained->collectives[0].tensor, "h3");
  const auto text = Explain(*problem, *plan, "fc2", false);
  ASSERT_TRUE(text.ok());
  const std::string answer = text->substr(0, text->find("\n\n") + 1);  // first of all
  EXPECT_LE(std::count(answer.begin(), answer.end(), '\n'), 15);
  for (const char* part :
       {"\nchosen ", "\nbecause ", "\npinned ", "\nnext best ", "\ncauses ", "on the sum of prices"}) {
    EXPECT_NE(answer.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(text->find("copy-cost"), std::string::npos);  // another criterion
  const auto all = Explain(*problem, *plan, "fc2", false, {.all = true});
  ASSERT_TRUE(all.ok());
  EXPECT_NE(all->find("copy-cost"), std::string::npos);
}

TEST_F(PlanTest, ExplainSaysWhichRankHoldsWhat) {
  const auto plan = MakePlan(Request(Mlp(), "data=2,model=2@[0,2,1,3]", "greedy", "bytes", kMegatronWeights));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const auto problem = RebuildProblem(*plan, rules_);
  ASSERT_TRUE(problem.ok());
  const auto explained = ExplainTensor(*problem, *plan, NameIndex(plan->graph).tensor("w1"));
  ASSERT_TRUE(explained.ok());
  ASSERT_EQ(explained->layouts.size(), 1u);
  ASSERT_EQ(explained->layouts[0].slices.size(), 4u);
  const ExplainedSlice& second = explained->layouts[0].slices[1];  // (data 0, model 1)
  EXPECT_EQ(second.rank, 2);
  EXPECT_EQ(second.ranges[1], (Range{128, 256}));
  const auto unknown = Explain(*problem, *plan, "fc3", false);
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.status().message().find("\"fc"), std::string::npos);
}

TEST_F(PlanTest, WeightsGatheredPerTokenAreReported) {
  const auto gather = [](Shape weights, Shape result) {
    GraphBuilder b("moe");
    b.AddInput("expert", {DType::kI64, {64}});
    b.AddParameter("w", F32(std::move(weights)));
    Attributes attributes;
    attributes.Set("axis", int64_t{0});
    b.AddOp("Gather", "pick", {"w", "expert"}, {"y"}, attributes);
    b.DescribeTensor("y", F32(std::move(result)));
    b.AddOutput("y");
    return *b.Build("moe");
  };
  const auto experts = MakePlan(Request(gather({8, 32, 16}, {64, 32, 16}), "2", "greedy"));
  ASSERT_TRUE(experts.ok()) << experts.status().message();
  ASSERT_EQ(experts->warnings.size(), 1u);
  EXPECT_NE(experts->warnings[0].find("op \"pick\" (Gather) copies \"w\" f32[8,32,16] (16.4 kB) into \"y\""),
            std::string::npos)
      << experts->warnings[0];
  const auto table = MakePlan(Request(gather({8, 16}, {64, 16}), "2", "greedy"));  // an embedding
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_TRUE(table->warnings.empty());
}

struct TieRow {
  const char* what;
  std::vector<std::string> parameters, outputs;
  std::vector<std::string> ties;
};

TEST(TiesByName, Table) {
  const std::vector<TieRow> rows = {
      {"a prefix of the outputs", {"a.w", "b.w"}, {"new.a.w", "new.b.w", "loss"}, {"new.a.w=a.w", "new.b.w=b.w"}},
      {"a suffix of the outputs", {"w", "w2"}, {"w_out", "w2_out"}, {"w_out=w", "w2_out=w2"}},
      {"a prefix of the inputs", {"old_w", "old_v"}, {"w", "v"}, {"w=old_w", "v=old_v"}},
      {"the affix that most share", {"w", "v"}, {"new_w", "new_v", "w_copy"}, {"new_w=w", "new_v=v"}},
      {"two affixes that share alike", {"w", "v"}, {"new_w", "v_out"}, {}},
      {"no pair", {"w"}, {"y"}, {}},
      {"another prefix and other separators on each side",
       {"ps.net/h/0/w", "ps.net/h/1/w"},
       {"new.h.0.w", "new.h.1.w", "loss"},
       {"new.h.0.w=ps.net/h/0/w", "new.h.1.w=ps.net/h/1/w"}},
      {"one pair with an affix on both sides proves nothing", {"in.0"}, {"out.0"}, {}},
  };
  for (const TieRow& row : rows) {
    GraphBuilder builder("ties");
    builder.AddInput("x", F32({4}));
    for (const std::string& name : row.parameters) builder.AddParameter(name, F32({4}));
    for (const std::string& name : row.outputs) {
      // From x and all parameters, as an update is.
      std::vector<std::string> operands = row.parameters;
      operands.push_back("x");
      builder.AddOp("Sum", "make_" + name, operands, {name});
      builder.DescribeTensor(name, F32({4}));
      builder.AddOutput(name);
    }
    const Graph graph = *builder.Build("ties");
    std::vector<std::string> found;
    for (const Tie& tie : FindTiesByName(graph)) {
      found.push_back(StrCat(graph.tensor(tie.output).name, "=", graph.tensor(tie.input).name));
    }
    EXPECT_EQ(found, row.ties) << row.what;
  }
}

// Inputs and outputs of a model that trains nothing may share names, too.
TEST(TiesByName, UpdatesOnly) {
  const auto count = [](const std::function<void(GraphBuilder&)>& add) {
    GraphBuilder builder("ties");
    for (const char* name : {"src", "src_mask", "x"}) builder.AddInput(name, F32({4}));
    add(builder);
    for (const char* name : {"out_src", "out_src_mask"}) {
      builder.DescribeTensor(name, F32({4}));
      builder.AddOutput(name);
    }
    const auto graph = builder.Build("ties");
    return graph.ok() ? FindTiesByName(*graph).size() : 99;
  };
  EXPECT_EQ(count([](GraphBuilder& b) {  // handed through
              b.AddOp("Relu", "a", {"src"}, {"out_src"});
              b.AddOp("Relu", "b", {"src_mask"}, {"out_src_mask"});
            }),
            0u);
  EXPECT_EQ(count([](GraphBuilder& b) {  // of different kinds
              b.AddOp("Add", "a", {"src", "x"}, {"out_src"});
              b.AddOp("Mul", "b", {"src_mask", "x"}, {"out_src_mask"});
            }),
            0u);
  EXPECT_EQ(count([](GraphBuilder& b) {  // the second does not come from what it is named like
              b.AddOp("Add", "a", {"src", "x"}, {"out_src"});
              b.AddOp("Add", "b", {"src", "x"}, {"out_src_mask"});
            }),
            0u);
  EXPECT_EQ(count([](GraphBuilder& b) {
              b.AddOp("Add", "a", {"src", "x"}, {"out_src"});
              b.AddOp("Add", "b", {"src_mask", "x"}, {"out_src_mask"});
            }),
            2u);
}

// Gradients and updates of "params.w" are both called "result.w" in StableHLO; .pt2 files list what is updated.
TEST(TiesByName, NotWhereFilesSayThem) {
  const auto count = [](std::string_view producer) {
    GraphBuilder builder("ties");
    builder.graph().metadata.emplace_back(kProducerName, producer);
    builder.AddInput("x", F32({4}));
    for (const std::string name : {"w", "b"}) {
      builder.AddParameter("params." + name, F32({4}));
      builder.AddOp("Mul", "of_" + name, {"params." + name, "x"}, {"result." + name});
      builder.DescribeTensor("result." + name, F32({4}));
      builder.AddOutput("result." + name);
    }
    return FindTiesByName(*builder.Build("ties")).size();
  };
  EXPECT_EQ(count(kStableHloProducer), 0u);
  EXPECT_EQ(count(kTorchProducer), 0u);
  EXPECT_EQ(count("pytorch"), 2u);  // an ONNX file
}

// A learned temperature and a constant of the quotient's expansion, which takes it.
TEST(TiesByName, ConstantsOfExpansionsAreNoStates) {
  const auto count = [](const std::string& constant) {
    GraphBuilder builder("ties");
    builder.AddInput("x", F32({}));
    builder.AddParameter(constant, F32({}), std::make_shared<const Literal>(Literal::Float(2)));
    builder.AddOp("Div", "div", {"x", constant}, {"div"});
    builder.DescribeTensor("div", F32({}));
    builder.AddOutput("div");
    return FindTiesByName(*builder.Build("ties")).size();
  };
  EXPECT_EQ(count("div/constant_2"), 0u);
  EXPECT_EQ(count("old.div"), 1u);
}

TEST(TiesByName, TypesMustAgree) {
  GraphBuilder builder("ties");
  builder.AddInput("x", F32({4}));
  builder.AddParameter("w", F32({8}));
  builder.AddOp("Relu", "r", {"x"}, {"new.w"});
  builder.DescribeTensor("new.w", F32({4}));
  builder.AddOutput("new.w");
  EXPECT_TRUE(FindTiesByName(*builder.Build("ties")).empty());
}

}  // namespace
}  // namespace sbp
