#include "calibrate/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cost/cost.h"

namespace sbp {
namespace {

// A machine whose constants are known; what it would measure.
Cluster Known() {
  Cluster cluster = *FindPreset("cpu");
  cluster.devices_per_node = 4;
  cluster.device.flops = {{DType::kF32, {2e11, ""}}, {DType::kF64, {1e11, ""}}};
  cluster.device.memory_bandwidth = {3e10, ""};
  cluster.device.launch_seconds = {2e-6, ""};
  cluster.intra_node = {"wire", {4e9, ""}, {7e-6, ""}, {1, ""}};
  return cluster;
}

std::vector<OpSample> OpsOf(const Cluster& cluster) {
  std::vector<OpSample> samples;
  const auto add = [&](const char* op, DType dtype, double flops, double bytes) {
    samples.push_back({op, dtype, flops, bytes, ComputeSeconds(cluster.device, {flops, bytes, dtype}), "test"});
  };
  for (const double bytes : {2e3, 4e3, 8e3, 4e7, 1.6e8}) add("Add", DType::kF32, bytes / 12, bytes);
  for (const double n : {512.0, 1024.0, 2048.0}) add("MatMul", DType::kF32, 2 * n * n * n, 12 * n * n);
  for (const double n : {512.0, 1024.0, 2048.0}) add("MatMul", DType::kF64, 2 * n * n * n, 24 * n * n);
  return samples;
}

std::vector<CollectiveSample> CollectivesOf(const Cluster& cluster) {
  std::vector<CollectiveSample> samples;
  for (const CollectiveKind kind : {CollectiveKind::kAllGather, CollectiveKind::kAllReduce}) {
    for (const int64_t ranks : {2, 4}) {
      for (const double bytes : {4096.0, 65536.0, 1048576.0, 16777216.0}) {
        samples.push_back({kind, 1, ranks, bytes, CollectiveTime(cluster, kind, ranks, {1, ranks}, bytes), "test"});
      }
    }
  }
  return samples;
}

const Residual* FindResidual(const Fit& fit, std::string_view what) {
  for (const Residual& residual : fit.residuals) {
    if (residual.what == what) return &residual;
  }
  return nullptr;
}

TEST(FitCluster, FindsTheConstantsThatMadeTheSamples) {
  const Cluster known = Known();
  const Fit fit = FitCluster(*FindPreset("cpu"), OpsOf(known), CollectivesOf(known), "here").value();
  const DeviceSpec& device = fit.cluster.device;
  EXPECT_NEAR(device.launch_seconds.value, 2e-6, 1e-6);  // small ops move bytes too
  EXPECT_NEAR(device.memory_bandwidth.value / 3e10, 1, 0.01);
  EXPECT_NEAR(device.flops.at(DType::kF32).value / 2e11, 1, 0.01);
  EXPECT_NEAR(device.flops.at(DType::kF64).value / 1e11, 1, 0.01);
  EXPECT_NEAR(fit.cluster.intra_node.bandwidth.value / 4e9, 1, 0.01);
  EXPECT_NEAR(fit.cluster.intra_node.latency_seconds.value, 7e-6, 0.2e-6);
  EXPECT_EQ(device.launch_seconds.source, "here");
  EXPECT_TRUE(Verify(fit.cluster, "").ok());
  for (const char* what : {"links alone, all-gather", "links alone, all-reduce"}) {
    ASSERT_NE(FindResidual(fit, what), nullptr);
    EXPECT_LT(FindResidual(fit, what)->worst, 0.05);
  }
}

// What stays on a node and what leaves it are two links.
TEST(FitCluster, LinksWithinNodesAndBetweenThem) {
  Cluster known = Known();
  known.num_nodes = 2;
  known.inter_node = {"network", {1e9, ""}, {50e-6, ""}, {1, ""}};
  std::vector<CollectiveSample> samples = CollectivesOf(known);
  for (const double bytes : {4096.0, 65536.0, 1048576.0, 16777216.0}) {
    const CollectiveKind kind = CollectiveKind::kAllGather;
    samples.push_back({kind, 2, 1, bytes, CollectiveTime(known, kind, 2, {2, 1}, bytes), "test"});
    samples.push_back({kind, 2, 2, bytes, CollectiveTime(known, kind, 4, {2, 2}, bytes), "test"});
  }
  const Fit fit = FitCluster(known, OpsOf(known), samples, "here").value();
  EXPECT_NEAR(fit.cluster.intra_node.bandwidth.value / 4e9, 1, 0.01);
  EXPECT_NEAR(fit.cluster.inter_node.bandwidth.value / 1e9, 1, 0.02);
  EXPECT_NEAR(fit.cluster.inter_node.latency_seconds.value, 50e-6, 2e-6);
}

TEST(FitCluster, ResidualsTellHowFarOffItIs) {
  const Cluster known = Known();
  std::vector<OpSample> ops = OpsOf(known);
  for (OpSample& sample : ops) {
    if (sample.op == "MatMul" && sample.dtype == DType::kF64 && sample.flops > 1e10) sample.seconds *= 2;
  }
  const Fit fit = FitCluster(*FindPreset("cpu"), ops, {}, "here").value();
  const Residual* residual = FindResidual(fit, "roofline alone, products in f64");
  ASSERT_NE(residual, nullptr);
  EXPECT_GT(residual->worst, 0.3);
  EXPECT_EQ(fit.cluster.samples.size(), 0u);
}

TEST(FitCluster, NothingToTellFrom) {
  const auto message = [](std::vector<OpSample> ops) {
    return FitCluster(*FindPreset("cpu"), std::move(ops), {}, "here").status().message();
  };
  EXPECT_EQ(message({}), "no op was measured that tells the memory's bandwidth");
  EXPECT_EQ(message({{"Add", DType::kF32, 1, 1e6, 1e-3, ""}}), "no product was measured that tells the flops");
}

}  // namespace
}  // namespace sbp
