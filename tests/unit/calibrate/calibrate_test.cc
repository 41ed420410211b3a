#include "calibrate/calibrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "calibrate/samples.h"
#include "io/documents.h"
#include "pipeline/pipeline.h"

namespace sbp {
namespace {

CalibrationRequest Small(const RuleSet& rules, int64_t devices) {
  CalibrationRequest request;
  request.devices = devices;
  request.name = "here";
  request.source = "measured in a test";
  request.memory_bytes = 1e9;
  request.limits = {6e5, 2e5};
  request.most_bytes = 16384;
  request.repeats = 1;
  request.rules = &rules;
  return request;
}

TEST(CountNodes, HostsThatAreFilledOneAfterTheOther) {
  EXPECT_EQ(CountNodes({"a"}).value(), 1);
  EXPECT_EQ(CountNodes({"a", "a", "b", "b"}).value(), 2);
  EXPECT_THAT(CountNodes({"a", "b", "a", "b"}).status().message(), ::testing::HasSubstr("--map-by slot"));
  EXPECT_THAT(CountNodes({"a", "a", "b"}).status().message(),
              ::testing::HasSubstr("\"a\" has 2 ranks and \"b\" has 1"));
}

// Four threads as two nodes of two: groups within a node, of both, and of one on each.
TEST(Calibrate, SeveralNodes) {
  const RuleSet rules = RuleSet::Builtin().value();
  const auto backend = StartBackend("cpu").value();
  CalibrationRequest request = Small(rules, 4);
  request.nodes = 2;
  const Cluster cluster = Calibrate(*backend, request).value().cluster;
  EXPECT_EQ(cluster.num_nodes, 2);
  EXPECT_EQ(cluster.devices_per_node, 2);
  std::set<std::pair<int64_t, int64_t>> groups;
  for (const CollectiveSample& sample : cluster.samples) groups.emplace(sample.nodes, sample.ranks_per_node);
  EXPECT_THAT(groups, ::testing::IsSupersetOf(std::set<std::pair<int64_t, int64_t>>{{1, 2}, {2, 1}, {2, 2}}));
}

// What is found reads back, prices plans, and tells each collective on each size of group.
TEST(Calibrate, MeasuresWhatPlansAreMadeOf) {
  const RuleSet rules = RuleSet::Builtin().value();
  const auto backend = StartBackend("cpu").value();
  const Fit fit = Calibrate(*backend, Small(rules, 4)).value();
  const Cluster cluster = ReadCluster(WriteCluster(fit.cluster, Encoding::kJson), "written").value();
  EXPECT_EQ(cluster.num_devices(), 4);
  std::set<std::pair<CollectiveKind, int64_t>> kinds;
  for (const CollectiveSample& sample : cluster.samples) kinds.emplace(sample.kind, sample.ranks_per_node);
  kinds.erase({CollectiveKind::kSendRecv, 1});  // a difference, which may drown in noise
  EXPECT_EQ(kinds.size(), 7u * 2);              // groups of 4 and of 2
  std::set<std::string> ops;
  for (const OpSample& sample : cluster.device.op_samples) {
    ops.insert(sample.op);
    EXPECT_GT(sample.seconds, 0);
    EXPECT_EQ(sample.source, "measured in a test");
  }
  EXPECT_THAT(ops, ::testing::IsSupersetOf({"MatMul", "Add", "Exp", "Softmax", "Transpose", "Gather", "Gemm"}));
  EXPECT_FALSE(fit.residuals.empty());
}

Plan PlanOf(CalibrationCase what, const Mesh& mesh, const RuleSet& rules) {
  PlanRequest request;
  request.graph = std::move(what.graph);
  request.mesh = mesh;
  request.cluster = *FindPreset("cpu");
  request.pins = std::move(what.pins);
  request.rules = &rules;
  return MakePlan(std::move(request)).value();
}

// What is sent to a neighbour costs what an op that needs it takes longer than the same work without.
TEST(Samples, NeighboursAreTheDifference) {
  const RuleSet rules = RuleSet::Builtin().value();
  const Mesh mesh = *ParseMesh("x=2");
  const Plan plan = PlanOf(HaloCase(mesh, 4096, rules).value(), mesh, rules);
  const auto collectives = [&](double alone, double with_neighbours) {
    RunReport report;
    for (size_t o = 0; o < plan.graph.ops.size(); ++o) {
      TaskReport& task = report.tasks.emplace_back();
      task.op = OpId(static_cast<uint32_t>(o));
      task.mean_seconds = plan.graph.ops[o].name == "again.all" ? with_neighbours : alone;
      task.measured_seconds = task.mean_seconds;
    }
    Samples samples;
    EXPECT_TRUE(samples.Add(plan, rules, report).ok());
    return samples.Collectives("test");
  };
  const std::vector<CollectiveSample> found = collectives(1, 1.5);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, CollectiveKind::kSendRecv);
  EXPECT_EQ(found[0].seconds, 0.5);
  EXPECT_GE(found[0].bytes, 4096);
  EXPECT_TRUE(collectives(1, 0.9).empty());
}

// What a model's own plans do is asked for again, as it is.
TEST(Samples, RunsOfModelsStandAlone) {
  const RuleSet rules = RuleSet::Builtin().value();
  const Mesh mesh = *ParseMesh("x=2");
  const Plan plan = PlanOf(BoxingCase(mesh, 0, 4096, 2048, rules).value(), mesh, rules);  // too short for 2048: 1024
  RunReport report;
  for (size_t t = 0; t < plan.transitions.size(); ++t) {
    for (size_t s = 0; s < plan.transitions[t].steps.size(); ++s) {
      TaskReport& task = report.tasks.emplace_back();
      task.transition = static_cast<int32_t>(t);
      task.step = static_cast<int32_t>(s);
      task.measured_seconds = 1;
    }
  }
  for (const bool of_model : {false, true}) {
    Samples samples;
    ASSERT_TRUE(samples.Add(plan, rules, report, of_model).ok());
    size_t in_runs = 0;
    for (const CollectiveSample& sample : samples.Collectives("test")) {
      if (sample.run_bytes == 0) continue;
      ++in_runs;
      EXPECT_EQ(sample.alone, of_model);
      EXPECT_EQ(sample.run_bytes, of_model ? 1024 : 2048) << CollectiveKindName(sample.kind);
    }
    EXPECT_GE(in_runs, 3U);
  }
}

TEST(Calibrate, OneDeviceHasNoCollectives) {
  const RuleSet rules = RuleSet::Builtin().value();
  const auto backend = StartBackend("cpu").value();
  const Fit fit = Calibrate(*backend, Small(rules, 1)).value();
  EXPECT_TRUE(fit.cluster.samples.empty());
  EXPECT_EQ(fit.cluster.device.overlap.value, 1);
}

// Sizes as the model has them: the prediction of a task of the model is its own measurement.
TEST(Calibrate, AModelsOwnOpsAreMet) {
  const RuleSet rules = RuleSet::Builtin().value();
  const auto backend = StartBackend("cpu").value();
  CalibrationRequest request = Small(rules, 2);
  request.built_in = true;
  const auto model = ReadGraph(R"({"kind": "sbp_plan.graph.v1", "name": "m",
    "inputs": [{"name": "x", "type": "f32[64,48]"}], "parameters": [{"name": "w", "type": "f32[48,80]"}],
    "tensors": [{"name": "h", "type": "f32[64,80]"}, {"name": "y", "type": "f32[64,80]"}],
    "ops": [{"name": "fc", "type": "MatMul", "inputs": ["x", "w"], "outputs": ["h"]},
            {"name": "act", "type": "Erf", "inputs": ["h"], "outputs": ["y"]}], "outputs": ["y"]})",
                               "m.json");
  request.models.push_back({model.value(), DataReader()});
  const Fit fit = Calibrate(*backend, request).value();
  double bytes = 0;
  for (const OpSample& sample : fit.cluster.device.op_samples) {
    if (sample.op == "Erf" && sample.bytes == 2.0 * 64 * 80 * 4) bytes = sample.bytes;
  }
  EXPECT_GT(bytes, 0);
}

}  // namespace
}  // namespace sbp
