#include "report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "report/facts.h"
#include "unit/plans/transformer.h"

namespace sbp {
namespace {

using sbp::testing::TransformerPlan;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Summary, OneScreen) {
  Plan plan = TransformerPlan({.layers = 4});
  plan.replicated.push_back({plan.graph.outputs[0], "no rule"});
  plan.warnings = {"watch out"};
  EXPECT_EQ(
      FormatSummary(plan),
      "models/transformer.onnx: 67 ops on mesh data=2,model=4 (8 devices, 8xH100), strategy greedy by bytes\n"
      "\n"
      "step time      33.2 ms  compute and collectives side by side: exposed 4.00 ms of 4.00 ms of collectives\n"
      "sum of prices  33.2 ms  compute 29.2 ms (88 %), collectives 4.00 ms (12 %)\n"
      "bytes moved    1.60 GB  sent by all ranks in one step\n"
      "peak memory    12.3 GB  per device: parameters 10.0 GB, activations 2.20 GB, boxing buffers 100 MB; during "
      "\"/model/head/logits\"\n"
      "\n"
      "compute by op type  ops     time  share\n"
      "  MatMul             25  25.0 ms   75 %\n"
      "  SplitHeads         12  1.20 ms    4 %\n"
      "  RMSNormalization    9   900 us    3 %\n"
      "  Add                 8   800 us    2 %\n"
      "  4 others           13  1.30 ms    4 %\n"
      "\n"
      "time by scope          ops     time  share\n"
      "  model/layers.*/attn   36  18.0 ms   54 %\n"
      "  model/layers.*/mlp    12  8.40 ms   25 %\n"
      "  model/layers.*         8  4.80 ms   14 %  of it collectives 4.00 ms\n"
      "  model/head             1  1.00 ms    3 %\n"
      "  4 others              10  1.00 ms    3 %\n"
      "\n"
      "collectives   count  bytes moved     time\n"
      "  all-reduce      8      1.60 GB  4.00 ms\n"
      "\n"
      "dearest collectives\n"
      "  4.00 ms, 1.60 GB: all-reduce over model, 8 alike, first of \"l0.attn\" f16[8,1024,4096], (S(0), P(sum)) -> "
      "(S(0), B)\n"
      "      because partial sums needed whole\n"
      "\n"
      "largest at the peak\n"
      "   262 MB  parameter   embedding.weight\n"
      "  65.5 MB  activation  logits\n"
      "\n"
      "replicated for lack of a legal split (1)\n"
      "  \"logits\": no rule\n"
      "\n"
      "warnings (1)\n"
      "  watch out\n");
}

TEST(Summary, BoundAndGap) {
  Plan plan = TransformerPlan();
  plan.has_bound = true;
  plan.lower_bound_seconds = plan.total.seconds() / 2;
  EXPECT_THAT(FormatSummary(plan), HasSubstr("gap 50 %"));
  EXPECT_DOUBLE_EQ(GapOf(plan), 0.5);
}

TEST(Summary, Json) {
  Plan plan = TransformerPlan({.layers = 4});
  nlohmann::json json =
      nlohmann::json::parse(SummaryJson(plan, {{"load", 0.25}, {"total", 1.5}, {"peak_rss_bytes", 3e9}}));
  EXPECT_EQ(json["ops"], 67);
  EXPECT_EQ(json["collectives"].size(), 1u);
  EXPECT_EQ(json["collectives"][0]["kind"], "all-reduce");
  EXPECT_EQ(json["collectives"][0]["count"], 8);
  EXPECT_EQ(json["collectives"][0]["bytes"].get<double>(), 1.6e9);
  EXPECT_EQ(json["sum"]["seconds"].get<double>(), plan.total.seconds());
  EXPECT_EQ(json["seconds_per_step"], json["schedule"]["seconds"]);
  const nlohmann::json& schedule = json["schedule"];
  EXPECT_DOUBLE_EQ(schedule["seconds"], 0.0332);
  EXPECT_DOUBLE_EQ(schedule["exposed_seconds"], 0.004);
  EXPECT_DOUBLE_EQ(schedule["collective_seconds"], 0.004);
  EXPECT_EQ(schedule["idle_seconds"], 0);
  EXPECT_EQ(json["peak_bytes"], 12'300'000'000);
  EXPECT_TRUE(json["lower_bound_seconds"].is_null());
  EXPECT_TRUE(json["gap"].is_null());
  EXPECT_EQ(json["timings"]["load"], 0.25);
  EXPECT_EQ(json["timings"]["peak_rss_bytes"].dump(), "3000000000");
  EXPECT_TRUE(json["replicated"].is_array());
  EXPECT_TRUE(json["warnings"].is_array());
  plan.warnings = {"bytes \xff that are no UTF-8"};
  EXPECT_NO_THROW(static_cast<void>(SummaryJson(plan, {})));
}

struct DiffRow {
  const char* what;
  std::function<void(Plan&)> change;
  const char* where;
  const char* kind;
};

class DiffTest : public ::testing::TestWithParam<DiffRow> {};

TEST_P(DiffTest, IsFound) {
  const Plan a = TransformerPlan({.layers = 2});
  Plan b = a;
  GetParam().change(b);
  const std::vector<PlanDifference> differences = DiffPlans(a, b, {});
  ASSERT_FALSE(differences.empty()) << GetParam().what;
  EXPECT_THAT(differences[0].where, HasSubstr(GetParam().where));
  EXPECT_THAT(differences[0].what, HasSubstr(GetParam().kind));
  EXPECT_NE(differences[0].expected, differences[0].found);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, DiffTest,
    ::testing::Values(
        DiffRow{"mesh", [](Plan& p) { p.mesh.axes[0].name = "dp"; }, "plan", "mesh"},
        DiffRow{"signature", [](Plan& p) { p.records[0].signature.outputs[0] = NdSbp(2); }, "embed", "signature"},
        DiffRow{"seconds", [](Plan& p) { p.records[0].compute_seconds *= 1.5; }, "embed", "compute seconds"},
        DiffRow{"renamed op", [](Plan& p) { p.graph.ops[3].name = "other"; }, "q_heads", "only in the first"},
        DiffRow{"start", [](Plan& p) { p.source_layouts[p.graph.inputs[0].index()] = NdSbp(2); }, "tokens", "starting"},
        DiffRow{"dropped boxing", [](Plan& p) { p.transitions.pop_back(); }, "boxing of \"l1.mlp\"",
                "only in the first"},
        DiffRow{"another collective", [](Plan& p) { p.transitions[0].steps[0].kind = CollectiveKind::kAllGather; },
                "l0.attn", "steps"},
        DiffRow{"readers", [](Plan& p) { p.transitions[0].consumers.clear(); }, "l0.attn", "readers"},
        DiffRow{"bytes", [](Plan& p) { p.total.bytes_moved += 1; }, "total", "bytes moved"},
        DiffRow{"peak", [](Plan& p) { p.memory.peak_bytes += 1; }, "memory", "peak"}));

TEST(Diff, EqualByMeaning) {
  const Plan a = TransformerPlan({.layers = 2});
  Plan b = a;
  b.options.strategy = "fixed";  // how it was found is no meaning
  b.model_path = "elsewhere.onnx";
  b.records.push_back(b.records[0]);
  b.op_records[0] = static_cast<uint32_t>(b.records.size() - 1);  // records may be shared or not
  std::reverse(b.transitions.begin(), b.transitions.end());
  EXPECT_EQ(FormatDifferences(DiffPlans(a, b, {})), "no differences\n");
}

TEST(Diff, ToleranceIsRelative) {
  const Plan a = TransformerPlan({.layers = 2});
  Plan b = a;
  b.total.bytes_moved *= 1.009;
  EXPECT_EQ(DiffPlans(a, b, {0.01}).size(), 0u);
  EXPECT_EQ(DiffPlans(a, b, {0.001}).size(), 1u);
}

TEST(Diff, TextAndJson) {
  const std::vector<PlanDifference> differences = {{"op \"a\"", "signature", "B -> B", "S(0) -> S(0)"},
                                                   {"op \"a\"", "compute seconds", "1", "2"},
                                                   {"op \"b\"", "signature", "B -> B", "S(0) -> S(0)"},
                                                   {"op \"c\"", "compute seconds", "1", "2"},
                                                   {"total", "x", "1", "2"}};
  EXPECT_EQ(FormatDifferences(differences, 1),
            "signature (2)\n  (no scope)  2  such as op \"a\": B -> B  =>  S(0) -> S(0)\n"
            "compute seconds\n  op \"c\": 1  =>  2\n5 differences (--all lists them one by one)\n");
  EXPECT_EQ(FormatDifferences(differences),
            "signature (2)\n  op \"a\": B -> B  =>  S(0) -> S(0)\n  op \"b\": B -> B  =>  S(0) -> S(0)\n"
            "compute seconds\n  op \"c\": 1  =>  2\n5 differences\n");
  const nlohmann::json json = nlohmann::json::parse(DifferencesJson(differences));
  EXPECT_EQ(json["differences"][0]["found"], "S(0) -> S(0)");
}

TEST(Times, EveryOpAndLayoutChangeCountsOnce) {
  const Plan plan = TransformerPlan({.layers = 4});
  double by_type = 0, by_scope = 0;
  for (const TimeShare& share : TimeByType(plan)) by_type += share.seconds();
  for (const TimeShare& share : TimeByScope(plan)) by_scope += share.seconds();
  double ops = 0, boxing = 0;
  for (size_t o = 0; o < plan.graph.ops.size(); ++o) ops += plan.decision(OpId(o)).compute_seconds;
  for (const Transition& transition : plan.transitions) boxing += transition.seconds;
  EXPECT_NEAR(by_type, ops, 1e-9 * ops);
  EXPECT_NEAR(by_scope, ops + boxing, 1e-9 * (ops + boxing));
}

TEST(Times, ScopesOfRepeatedLayersAreOne) {
  EXPECT_EQ(RepeatedScope("model/layers.31/mlp"), "model/layers.*/mlp");
  EXPECT_EQ(RepeatedScope("layers/0"), "layers/*");
  EXPECT_EQ(RepeatedScope("h_12/conv2d/layer1.0"), "h_*/conv2d/layer1.*");
  EXPECT_EQ(RepeatedScope(""), "");
}

TEST(Summary, SaysWhenMoreEffortMayHelp) {
  Plan plan = TransformerPlan({.layers = 4});
  plan.has_bound = true;
  plan.lower_bound_seconds = 0.88 * plan.total.seconds();
  const SummaryOptions options = {.goal_gap = 0.009, .more_effort = "--effort 20"};
  EXPECT_EQ(FormatSummary(plan, options).find("may help"), std::string::npos);  // the search had ended
  plan.cut_short = true;
  EXPECT_THAT(FormatSummary(plan, options), HasSubstr("gap 12 %: --effort 20 may help"));
  plan.lower_bound_seconds = 0.995 * plan.total.seconds();
  EXPECT_EQ(FormatSummary(plan, options).find("may help"), std::string::npos);  // good enough
}

TEST(Compare, SideBySide) {
  Plan a = TransformerPlan({.layers = 4});
  a.has_bound = true;  // of the sum alone, which is what they are compared by
  a.lower_bound_seconds = 0.025;
  Plan b = a;
  b.total.collective_seconds *= 10;
  const std::vector<ComparedPlan> plans = {
      {"einsum", &b, "", 0.002}, {"greedy", &a, "", 0.001}, {"optimal", nullptr, "no memory"}};
  EXPECT_EQ(FormatComparison(plans),
            "strategy     step  sum of prices  compute   boxing    moved     peak  bound of sum   gap  to the best  "
            "planned in\n"
            "einsum    33.2 ms        69.2 ms  29.2 ms  40.0 ms  1.60 GB  12.3 GB       25.0 ms  64 %       x 2.08     "
            "2.00 ms\n"
            "greedy    33.2 ms        33.2 ms  29.2 ms  4.00 ms  1.60 GB  12.3 GB       25.0 ms  25 %      fastest     "
            "1.00 ms\n"
            "optimal: no plan: no memory\n");
  const nlohmann::json json = nlohmann::json::parse(ComparisonJson(plans));
  EXPECT_EQ(json["plans"][1]["strategy"], "greedy");
  EXPECT_EQ(json["plans"][1]["peak_bytes"], 12'300'000'000);
  EXPECT_EQ(json["plans"][2]["error"], "no memory");
}

}  // namespace
}  // namespace sbp
