#include "check/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>

#include "base/text.h"
#include "graph/builder.h"
#include "physical/physical.h"
#include "pipeline/pipeline.h"

namespace sbp {
namespace {

using ::testing::HasSubstr;

const RuleSet& Rules() {
  static const RuleSet* const rules = new RuleSet(*RuleSet::Builtin());
  return *rules;
}

// Residual MLP blocks: y = x + relu(x w1) w2.
Graph MlpGraph(int64_t blocks) {
  GraphBuilder builder("mlp");
  builder.AddInput("x0", {DType::kF32, {16, 32}});
  for (int64_t b = 0; b < blocks; ++b) {
    const std::string p = StrCat("b", b, "."), x = StrCat("x", b), y = StrCat("x", b + 1);
    builder.AddParameter(p + "w1", {DType::kF32, {32, 64}});
    builder.AddParameter(p + "w2", {DType::kF32, {64, 32}});
    builder.AddOp("MatMul", p + "fc1", {x, p + "w1"}, {p + "h"});
    builder.AddOp("Relu", p + "relu", {p + "h"}, {p + "a"});
    builder.AddOp("MatMul", p + "fc2", {p + "a", p + "w2"}, {p + "z"});
    builder.AddOp("Add", p + "add", {x, p + "z"}, {y});
    builder.DescribeTensor(p + "h", {DType::kF32, {16, 64}});
    builder.DescribeTensor(p + "a", {DType::kF32, {16, 64}});
    builder.DescribeTensor(p + "z", {DType::kF32, {16, 32}});
    builder.DescribeTensor(y, {DType::kF32, {16, 32}});
  }
  builder.AddOp("Softmax", "softmax", {StrCat("x", blocks)}, {"y"});
  builder.DescribeTensor("y", {DType::kF32, {16, 32}});
  builder.AddOutput("y");
  return *builder.Build("mlp");
}

Plan MakeMlpPlan(int64_t blocks, std::string_view mesh, std::vector<std::string> pins) {
  PlanRequest request;
  request.graph = MlpGraph(blocks);
  request.mesh = *ParseMesh(mesh);
  request.cluster = *FindPreset("8xH100");
  request.rules = &Rules();
  for (const std::string& pin : pins) request.pins.emplace_back(pin, "--pin");
  request.options.pins = std::move(pins);
  Result<Plan> plan = MakePlan(std::move(request));
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return plan.ok() ? *std::move(plan) : Plan();
}

// Megatron's split: the only collective kind is the all-reduce after each block.
const Plan& GoodPlan() {
  static const Plan* const plan = new Plan(MakeMlpPlan(2, "data=2,model=2", {"*w1=(B, S(1))", "*w2=(B, S(0))"}));
  return *plan;
}

std::string Print(const std::vector<Violation>& violations) {
  std::string text;
  for (const Violation& v : violations)
    text += StrCat(v.where, ": ", v.what, ": expected ", v.expected, ", found ", v.found, "\n");
  return text;
}

TEST(Check, AGoodPlanIsClean) {
  ASSERT_FALSE(GoodPlan().transitions.empty());
  EXPECT_EQ(Print(CheckPlan(GoodPlan(), Rules())), "");
}

TEST(Check, MeshesAndStrategiesAreClean) {
  for (const char* mesh : {"x=1", "x=2", "x=3", "x=8", "a=2,b=2", "a=2,b=3", "a=2,b=2,c=2", "a=1,b=4"}) {
    EXPECT_EQ(Print(CheckPlan(MakeMlpPlan(3, mesh, {}), Rules())), "") << mesh;
  }
}

// Finds things in the good plan by name.
uint32_t OpNamed(const Plan& plan, std::string_view name) { return NameIndex(plan.graph).op(name).value; }
TensorId TensorNamed(const Plan& plan, std::string_view name) { return NameIndex(plan.graph).tensor(name); }
DecisionRecord& OwnRecord(Plan& plan, std::string_view op) {
  const uint32_t o = OpNamed(plan, op);
  plan.records.push_back(plan.decision(OpId(o)));
  plan.op_records[o] = static_cast<uint32_t>(plan.records.size() - 1);
  return plan.records.back();
}

struct Mutation {
  const char* name;
  std::function<void(Plan&)> change;
  const char* where;
  const char* what;
};

class MutationTest : public ::testing::TestWithParam<Mutation> {};

TEST_P(MutationTest, IsCaught) {
  Plan plan = GoodPlan();
  GetParam().change(plan);
  const std::vector<Violation> violations = CheckPlan(plan, Rules());
  const bool found = std::any_of(violations.begin(), violations.end(), [&](const Violation& v) {
    return v.where.find(GetParam().where) != std::string::npos && v.what.find(GetParam().what) != std::string::npos;
  });
  EXPECT_TRUE(found) << GetParam().where << ": " << GetParam().what << "\n" << Print(violations);
}

const Sbp kB;
const Sbp kP = Sbp::Partial();
Sbp S(int dim) { return Sbp::Split(dim); }

const Mutation kStructure[] = {
    {"mesh of 0", [](Plan& p) { p.mesh.axes[0].size = 0; }, "mesh", "size"},
    {"huge mesh", [](Plan& p) { p.mesh.axes[0].size = int64_t{1} << 40; }, "mesh", "size"},
    {"no axes", [](Plan& p) { p.mesh.axes.clear(); }, "mesh", "number"},
    {"ranks twice",
     [](Plan& p) {
       p.mesh.ranks = {0, 1, 1, 2};
     },
     "mesh", "ranks"},
    {"bad cluster", [](Plan& p) { p.cluster.device.memory_bandwidth.value = -1; }, "cluster", "sound"},
    {"cycle", [](Plan& p) { p.graph.ops[0].inputs[0] = p.graph.ops[3].outputs[0]; }, "graph", "sound"},
    {"unknown shape", [](Plan& p) { p.graph.tensors[0].type.shape[0] = kUnknownDim; }, "x0", "shape"},
    {"record out of range", [](Plan& p) { p.op_records[2] = 1000; }, "fc2", "record"},
    {"decisions missing", [](Plan& p) { p.op_records.pop_back(); }, "plan", "decisions"},
    {"layouts missing", [](Plan& p) { p.source_layouts.clear(); }, "plan", "tensor layouts"},
    {"signature too short", [](Plan& p) { OwnRecord(p, "b0.fc1").signature.inputs.pop_back(); }, "fc1",
     "number of tensors"},
    {"layout of other axes", [](Plan& p) { p.source_layouts[0] = NdSbp(1); }, "x0", "axes"},
    {"split beyond the rank",
     [](Plan& p) {
       p.source_layouts[0] = {S(5), kB};
     },
     "x0", "not possible"},
    {"transition of no tensor", [](Plan& p) { p.transitions[0].tensor = TensorId(999); }, "transition 0",
     "out of range"},
    {"reader out of range", [](Plan& p) { p.transitions[0].consumers[0].op = OpId(999); }, "transition 0", "reader"},
    {"axis out of range", [](Plan& p) { p.transitions[0].steps[0].axis = 7; }, "transition 0", "axis"},
    {"sent ahead of its producer",
     [](Plan& p) {
       for (Transition& transition : p.transitions) transition.ahead_of = p.graph.tensor(transition.tensor).producer;
     },
     "transition", "sent ahead"},
    {"sent ahead of nothing", [](Plan& p) { p.transitions[0].ahead_of = OpId(999); }, "transition 0", "sent ahead"},
    {"replicated out of range",
     [](Plan& p) {
       p.replicated.push_back({TensorId(999), ""});
     },
     "replicated", "range"},
};

const Mutation kDecisions[] = {
    {"illegal factor",
     [](Plan& p) {
       OwnRecord(p, "b0.relu").signature.inputs[0] = {S(0), kB};
     },
     "relu", "not legal"},
    {"partial through relu",
     [](Plan& p) {
       OwnRecord(p, "b0.relu").signature = {{{S(0), kP}}, {{S(0), kP}}};
     },
     "relu", "not legal"},
    {"softmax split",
     [](Plan& p) {
       OwnRecord(p, "softmax").signature = {{{S(0), S(1)}}, {{S(0), S(1)}}};
     },
     "softmax", "not legal"},
    {"missing partial",
     [](Plan& p) {
       OwnRecord(p, "b0.fc2").signature.outputs[0] = {S(0), kB};
     },
     "fc2", "not legal"},
    {"operand forgotten",
     [](Plan& p) {
       OwnRecord(p, "b0.fc1").signature.inputs[1] = {kB, kB};
     },
     "fc1", "not legal"},
    {"wrong type", [](Plan& p) { p.graph.tensor(TensorNamed(p, "b0.h")).type.dtype = DType::kF16; }, "fc1",
     "type of result"},
    {"wrong shape",
     [](Plan& p) {
       p.graph.tensor(TensorNamed(p, "y")).type.shape = {16, 34};
     },
     "softmax", "type of result"},
    {"shapes that do not fit",
     [](Plan& p) {
       p.graph.tensor(TensorNamed(p, "b0.w1")).type.shape = {34, 64};
     },
     "fc1", "arguments fit no rule"},
    {"compute seconds", [](Plan& p) { OwnRecord(p, "b0.fc1").compute_seconds *= 1.01; }, "fc1", "compute seconds"},
    {"NaN seconds", [](Plan& p) { OwnRecord(p, "b0.fc1").compute_seconds = 0.0 / 0.0; }, "fc1", "compute seconds"},
    {"written otherwise",
     [](Plan& p) {
       p.source_layouts[TensorNamed(p, "b0.h").index()] = {kB, kB};
     },
     "b0.h", "producer writes"},
    {"pin text broken", [](Plan& p) { p.options.pins.push_back("nonsense"); }, "nonsense", "cannot be read"},
    {"pin not held", [](Plan& p) { p.options.pins.push_back("x0=(B, B)"); }, "x0", "not held"},
    {"written pin not held", [](Plan& p) { p.options.pins.push_back("b0.h<-(B, B)"); }, "b0.h", "not held"},
    {"lying pin not held", [](Plan& p) { p.options.pins.push_back("b0.h=(B, B)"); }, "b0.h", "not held"},
    {"pin of all uses not held", [](Plan& p) { p.options.pins.push_back("b0.h==(B, B)"); }, "b0.h", "not held"},
    {"output whole not held", [](Plan& p) { p.options.outputs = OutputPolicy::kWhole; }, "y", "must end whole"},
    {"use pin not held", [](Plan& p) { p.options.pins.push_back("b0.fc1.0=(B, B)"); }, "fc1", "not held"},
    {"signature pin not held", [](Plan& p) { p.options.pins.push_back("*.relu: (B, B) -> (B, B)"); }, "relu",
     "not held"},
    {"pin matches nothing", [](Plan& p) { p.options.pins.push_back("zz*=(B, B)"); }, "zz", "matches nothing"},
    {"graph's pin",
     [](Plan& p) {
       p.graph.tensors[0].layout_pin = {kB, kB};
     },
     "x0", "pin of the graph"},
    {"graph's signature pin",
     [](Plan& p) {
       p.graph.op(OpId(OpNamed(p, "b0.relu"))).signature_pin = {{kB, kB}, {kB, kB}};
     },
     "relu", "signature pin"},
};

const Mutation kBoxing[] = {
    {"output ends elsewhere",
     [](Plan& p) {
       p.output_layouts[0] = {S(0), kP};
     },
     "y", "does not have"},
    {"boxing dropped", [](Plan& p) { p.transitions.erase(p.transitions.begin()); }, "operand", "layout it needs"},
    {"reader dropped", [](Plan& p) { p.transitions[0].consumers.clear(); }, "boxing", "nobody needs it"},
    {"another collective", [](Plan& p) { p.transitions[0].steps[0].kind = CollectiveKind::kAllGather; }, "boxing",
     "collective does"},
    {"steps dropped", [](Plan& p) { p.transitions[0].steps.clear(); }, "boxing", "no steps"},
    {"steps start elsewhere",
     [](Plan& p) {
       p.transitions[0].steps[0].from = {kB, kP};
     },
     "boxing", "not connected"},
    {"steps end elsewhere",
     [](Plan& p) {
       p.transitions[0].steps.back().to = {kB, kB};
     },
     "boxing", "end elsewhere"},
    {"starts nowhere",
     [](Plan& p) {
       p.transitions[0].from = {S(1), kB};
     },
     "boxing", "does not have"},
    {"twice", [](Plan& p) { p.transitions.push_back(p.transitions[0]); }, "boxing", "exists already"},
    {"reader of another tensor",
     [](Plan& p) {
       p.transitions[0].consumers[0] = {OpId(1), 0};
     },
     "boxing", "does not read"},
    {"operand out of range", [](Plan& p) { p.transitions[0].consumers[0].operand = 17; }, "boxing", "does not read"},
    {"step bytes", [](Plan& p) { p.transitions[0].steps[0].wire_bytes += 1; }, "boxing", "bytes moved by a step"},
    {"step seconds", [](Plan& p) { p.transitions[0].steps[0].seconds *= 2; }, "boxing", "seconds of a step"},
    {"group bytes", [](Plan& p) { p.transitions[0].steps[0].tensor_bytes *= 2; }, "boxing", "on a group"},
    {"sum of bytes", [](Plan& p) { p.transitions[0].wire_bytes = 12345; }, "boxing", "bytes moved"},
    {"sum of seconds", [](Plan& p) { p.transitions[0].seconds = 0; }, "boxing", "seconds"},
    {"tie",
     [](Plan& p) {
       p.graph.ties.push_back({TensorNamed(p, "y"), TensorNamed(p, "b0.w1")});
     },
     "\"y\"", "tie"},
};

const Mutation kTotals[] = {
    {"compute", [](Plan& p) { p.total.compute_seconds *= 1.001; }, "total", "compute seconds"},
    {"collectives", [](Plan& p) { p.total.collective_seconds = 0; }, "total", "collective seconds"},
    {"bytes", [](Plan& p) { p.total.bytes_moved += 8; }, "total", "bytes moved"},
    {"bound", [](Plan& p) { p.has_bound = true, p.lower_bound_seconds = 2 * p.total.seconds(); }, "total",
     "lower bound"},
    {"schedule bound", [](Plan& p) { p.schedule_bound_seconds = 2 * p.total.seconds(); }, "schedule", "lower bound"},
    {"peak", [](Plan& p) { p.memory.peak_bytes -= 1; }, "memory", "peak bytes"},
    {"workspace", [](Plan& p) { p.memory.workspace_bytes += 1; }, "memory", "workspace bytes"},
    {"parameters", [](Plan& p) { p.memory.parameter_bytes += 1; }, "memory", "parameter bytes"},
    {"activations", [](Plan& p) { p.memory.activation_bytes += 1; }, "memory", "activation bytes"},
    {"boxing", [](Plan& p) { p.memory.boxing_bytes += 1; }, "memory", "boxing bytes"},
    {"peak op", [](Plan& p) { p.memory.peak_op = OpId(4000); }, "memory", "op of the peak"},
    {"holders",
     [](Plan& p) {
       p.memory.holders.push_back({"x", "input", int64_t{1} << 50});
     },
     "memory", "holders"},
    {"no holders", [](Plan& p) { p.memory.holders.clear(); }, "memory", "holders"},
    {"name of a holder", [](Plan& p) { p.memory.holders[0].name = "nobody"; }, "holder \"nobody\"", "names no tensor"},
    {"kind of a holder", [](Plan& p) { p.memory.holders[0].kind = "other"; }, "memory, holder", "kind"},
    {"bytes of a holder", [](Plan& p) { p.memory.holders[0].bytes += 1; }, "memory, holder", "bytes"},
    {"replicated",
     [](Plan& p) {
       const auto is_split = [](const NdSbp& layout) {
         return std::ranges::any_of(layout, [](Sbp s) { return s.is_split(); });
       };
       const auto split = std::ranges::find_if(p.source_layouts, is_split) - p.source_layouts.begin();
       p.replicated.push_back({TensorId(static_cast<size_t>(split)), "said so"});
     },
     "replicated tensors", "is not replicated"},
    {"limit", [](Plan& p) { p.options.memory_limit = 10; }, "memory", "above the limit"},
};

// A plan with its physical part, and one change to that.
PhysicalPlan& WithPhysical(Plan& p) { return p.physical.emplace(MakePhysicalPlan(p)); }

const Mutation kPhysical[] = {
    {"no task", [](Plan& p) { WithPhysical(p).tasks.pop_back(); }, "", "number of tasks"},
    {"order", [](Plan& p) { std::ranges::reverse(WithPhysical(p).tasks); }, "task", "before it is filled"},
    {"read", [](Plan& p) { WithPhysical(p).tasks.back().reads[0] = 0; }, "task", "reads another register"},
    {"write", [](Plan& p) { WithPhysical(p).tasks[0].writes[0] = 0; }, "task", "writes another register"},
    {"register bytes", [](Plan& p) { WithPhysical(p).registers[0].bytes += 64; }, "register 0", "bytes"},
    {"copies", [](Plan& p) { WithPhysical(p).registers[0].copies = 2; }, "register 0", "copies"},
    {"too short", [](Plan& p) { WithPhysical(p).registers[0].last = 0; }, "register 0", "too shortly"},
    {"overlap",
     [](Plan& p) {
       PhysicalPlan& physical = WithPhysical(p);
       physical.registers[1].offset = physical.registers[0].offset;
     },
     "register", "shares memory"},
    {"arena", [](Plan& p) { WithPhysical(p).arena_bytes -= 64; }, "arena", "bytes"},
    {"arena bound", [](Plan& p) { WithPhysical(p).lower_bound_bytes -= 64; }, "arena", "lower bound"},
    {"after",
     [](Plan& p) {
       WithPhysical(p).tasks.back().after = {0, 1};
     },
     "task", "overwrites"},
};

INSTANTIATE_TEST_SUITE_P(Structure, MutationTest, ::testing::ValuesIn(kStructure));
INSTANTIATE_TEST_SUITE_P(Decisions, MutationTest, ::testing::ValuesIn(kDecisions));
INSTANTIATE_TEST_SUITE_P(Boxing, MutationTest, ::testing::ValuesIn(kBoxing));
INSTANTIATE_TEST_SUITE_P(Totals, MutationTest, ::testing::ValuesIn(kTotals));
INSTANTIATE_TEST_SUITE_P(Physical, MutationTest, ::testing::ValuesIn(kPhysical));

TEST(Check, ThreeThousandOpsUnderASecond) {
  const Plan plan = MakeMlpPlan(750, "data=2,model=4", {});
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(Print(CheckPlan(plan, Rules())), "");
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 10.0);  // with sanitizers
}

struct GraphChange {
  const char* name;
  std::function<void(Graph&)> change;
  const char* what;
};

class CompareGraphsTest : public ::testing::TestWithParam<GraphChange> {};

TEST_P(CompareGraphsTest, IsFound) {
  const Graph model = MlpGraph(1);
  Graph changed = model;
  GetParam().change(changed);
  const std::vector<Violation> violations = CompareGraphs(changed, model);
  ASSERT_FALSE(violations.empty());
  EXPECT_THAT(Print(violations), HasSubstr(GetParam().what));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, CompareGraphsTest,
    ::testing::Values(
        GraphChange{"type", [](Graph& g) { g.tensors[0].type.shape[0] = 8; },
                    "type: expected f32[16,32], found f32[8,32]"},
        GraphChange{"tensor name", [](Graph& g) { g.tensors[1].name = "w"; }, "is not in the model"},
        GraphChange{"op name", [](Graph& g) { g.ops[0].name = "w"; }, "is missing in the plan"},
        GraphChange{"op type", [](Graph& g) { g.ops[0].type = g.ops[1].type; }, "type: expected MatMul, found Relu"},
        GraphChange{"inputs", [](Graph& g) { std::swap(g.ops[3].inputs[0], g.ops[3].inputs[1]); }, "inputs: expected"},
        GraphChange{"role", [](Graph& g) { g.tensors[0].role = TensorRole::kParameter; }, "role: expected input"},
        GraphChange{"value", [](Graph& g) { g.tensors[1].literal = std::make_shared<Literal>(Literal::Float(1)); },
                    "value"},
        GraphChange{"outputs", [](Graph& g) { g.outputs.clear(); }, "outputs"},
        GraphChange{"attribute",
                    [](Graph& g) {
                      Attributes attributes;
                      attributes.Set("axis", int64_t{0});
                      g.ops[0].attributes = std::make_shared<const Attributes>(attributes);
                    },
                    "attribute axis: expected absent, found 0"}));

// A Loop whose body lists its tensors in the order of `names`, as files do.
Graph WithBody(const std::vector<std::string>& names, int64_t size) {
  GraphBuilder body;
  for (const std::string& name : names) {
    TensorType type;
    type.shape = {name == "one" ? 1 : size};
    type.dtype = DType::kF32;
    if (name == "one") body.AddParameter(name, type);
    if (name == "x") body.AddInput(name, type);
  }
  body.AddOp("Add", "add", {"x", "one"}, {"y"});
  body.AddOutput("y");
  Graph graph = MlpGraph(1);
  Attributes attributes;
  attributes.Set("body", std::shared_ptr<const Graph>(std::make_shared<Graph>(body.Build("test").value())));
  graph.ops[0].attributes = std::make_shared<const Attributes>(attributes);
  return graph;
}

TEST(CompareGraphs, SubgraphsByContent) {
  EXPECT_EQ(Print(CompareGraphs(WithBody({"x", "one"}, 4), WithBody({"one", "x"}, 4))), "");
  EXPECT_THAT(Print(CompareGraphs(WithBody({"x", "one"}, 4), WithBody({"x", "one"}, 8))),
              HasSubstr("body, tensor \"x\": type: expected f32[8], found f32[4]"));
}

TEST(CompareGraphs, EqualByValue) { EXPECT_EQ(Print(CompareGraphs(MlpGraph(2), MlpGraph(2))), ""); }

}  // namespace
}  // namespace sbp
