#include "calibrate/calibrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

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

// What is found reads back, prices plans, and tells each collective on each size of group.
TEST(Calibrate, MeasuresWhatPlansAreMadeOf) {
  const RuleSet rules = RuleSet::Builtin().value();
  const auto backend = StartBackend("cpu").value();
  const Fit fit = Calibrate(*backend, Small(rules, 4)).value();
  const Cluster cluster = ReadCluster(WriteCluster(fit.cluster, Encoding::kJson), "written").value();
  EXPECT_EQ(cluster.num_devices(), 4);
  std::set<std::pair<CollectiveKind, int64_t>> kinds;
  for (const CollectiveSample& sample : cluster.samples) kinds.emplace(sample.kind, sample.ranks_per_node);
  EXPECT_EQ(kinds.size(), 7u * 2);  // groups of 4 and of 2
  std::set<std::string> ops;
  for (const OpSample& sample : cluster.device.op_samples) {
    ops.insert(sample.op);
    EXPECT_GT(sample.seconds, 0);
    EXPECT_EQ(sample.source, "measured in a test");
  }
  EXPECT_THAT(ops, ::testing::IsSupersetOf({"MatMul", "Add", "Exp", "Softmax", "Transpose", "Gather", "Gemm"}));
  EXPECT_FALSE(fit.residuals.empty());
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
