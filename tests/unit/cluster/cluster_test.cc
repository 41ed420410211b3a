#include "cluster/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>

namespace sbp {
namespace {

using ::testing::HasSubstr;

TEST(Presets, AllHoldAndSayTheirSources) {
  EXPECT_EQ(AllPresets().size(), 9u);
  for (const PresetRow& row : AllPresets()) {
    const Cluster cluster = *FindPreset(row.name);
    EXPECT_TRUE(Verify(cluster, "").ok()) << Verify(cluster, "").message();
    EXPECT_EQ(cluster.name, row.name);
    const std::string dump = Dump(cluster);
    EXPECT_EQ(dump.find("# \n"), std::string::npos) << dump;  // every constant has a source
  }
  EXPECT_EQ(FindPreset("16x8xH100")->num_devices(), 128);
  EXPECT_EQ(FindPreset("tpu-v5e-256")->num_devices(), 256);
  EXPECT_EQ(FindPreset("tpu-v5p-8960")->execution, Execution::kFused);
  EXPECT_EQ(FindPreset("2x72xGB200")->num_devices(), 144);
  EXPECT_EQ(FindPreset("3x8xH100")->num_devices(), 24);
  EXPECT_EQ(FindPreset("3x8xH100")->name, "3x8xH100");
  for (const char* name : {"16", "16x", "0x8xH100", "2x16x8xH100", "2xcpu", "2xtpu-v5e-256", "x8xH100", "-1x8xH100"}) {
    EXPECT_FALSE(FindPreset(name).ok()) << name;
  }
  EXPECT_THAT(FindPreset("8xH10").status().message(), HasSubstr("(did you mean \"8xH100\""));
}

TEST(Cluster, VerifyFindsEachFault) {
  const struct {
    void (*damage)(Cluster&);
    const char* message;
  } kRows[] = {
      {[](Cluster& c) { c.device.memory_bytes.value = 0; }, "device: memory_bytes is 0"},
      {[](Cluster& c) { c.device.flops.clear(); }, "flops is empty"},
      {[](Cluster& c) { c.device.flops[DType::kF32].value = -1; }, "flops of f32 is -1"},
      {[](Cluster& c) { c.device.compute_efficiency.value = 1.5; }, "compute_efficiency is 1.5"},
      {[](Cluster& c) { c.intra_node.bandwidth.value = std::numeric_limits<double>::infinity(); },
       "intra_node: bandwidth"},
      {[](Cluster& c) { c.inter_node.latency_seconds.value = std::nan(""); }, "inter_node: latency_seconds"},
      {[](Cluster& c) { c.device.contraction.grouped.value = 2; }, "contraction: grouped is 2"},
      {[](Cluster& c) {
         c.device.contraction.f32_convolutions = {0, "test"};
       },
       "contraction: f32_convolutions is 0"},
      {[](Cluster& c) { c.device.attention[1].speed.value = 0; }, "attention, row 1: value is 0"},
      {[](Cluster& c) { c.device.attention[0].head = 0; }, "attention, row 0: head is 0"},
      {[](Cluster& c) { std::swap(c.device.attention[0], c.device.attention[1]); },
       "attention, row 1: rows must ascend"},
      {[](Cluster& c) { c.protocols[1].rate.value = 0; }, "protocols[1] (LL128): rate is 0"},
      {[](Cluster& c) { c.protocols[2].inter_step_seconds.value = -1; }, "protocols[2] (LL): inter_step_seconds is -1"},
      {[](Cluster& c) { c.num_nodes = 0; }, "num_nodes is 0"},
      {[](Cluster& c) { c.num_nodes = 1LL << 62; }, "more than 2^31 devices"},
      {[](Cluster& c) { std::swap(c.samples[0], c.samples[1]); }, "sample 1 (all-gather): samples must ascend"},
      {[](Cluster& c) { c.samples[2].seconds = -1; }, "sample 2 (all-gather): seconds is -1"},
  };
  for (const auto& row : kRows) {
    Cluster cluster = *FindPreset("8xH100");
    row.damage(cluster);
    EXPECT_THAT(Verify(cluster, "c.json").message(), HasSubstr(row.message));
    EXPECT_THAT(Verify(cluster, "c.json").message(), HasSubstr("c.json: cluster \"8xH100\""));
  }
}

TEST(CollectiveKind, NamesReadBack) {
  for (int i = 0; i < 8; ++i) {
    const auto kind = static_cast<CollectiveKind>(i);
    EXPECT_EQ(ParseCollectiveKind(CollectiveKindName(kind)), kind);
  }
  EXPECT_EQ(ParseCollectiveKind("gather"), std::nullopt);
}

// The worst group by counting every rank of every group.
GroupShape Counted(const Cluster& cluster, const Mesh& mesh, int axis) {
  GroupShape worst{0, 0};
  for (const std::vector<int64_t>& group : mesh.Groups(axis)) {
    std::map<int64_t, int64_t> counts;
    int64_t most = 0;
    for (int64_t position : group) most = std::max(most, ++counts[mesh.rank(position) / cluster.devices_per_node]);
    const int64_t nodes = static_cast<int64_t>(counts.size());
    if (nodes > worst.nodes || (nodes == worst.nodes && most < worst.ranks_per_node)) worst = {nodes, most};
  }
  return worst;
}

TEST(GroupShape, EqualsCounting) {
  Cluster cluster = *FindPreset("8xH100");
  for (const int64_t per_node : {1, 2, 4, 8}) {
    cluster.devices_per_node = per_node;
    for (const char* text : {"8", "2,4", "4,2", "2,2,2", "4,4", "16", "2,8,2", "8,2", "4@[0,2,4,6]", "2,2@[0,8,1,9]",
                             "2,4@[7,6,5,4,3,2,1,0]"}) {
      const Mesh mesh = *ParseMesh(text);
      for (int axis = 0; axis < mesh.num_axes(); ++axis) {
        EXPECT_EQ(AxisGroupShape(cluster, mesh, axis), Counted(cluster, mesh, axis)) << text << " axis " << axis;
      }
    }
  }
  EXPECT_EQ(AxisGroupShape(cluster, *ParseMesh("2147483648"), 0), (GroupShape{2147483648 / 8, 8}));
  EXPECT_EQ(AxisGroupShape(cluster, *ParseMesh("32768,65536"), 0), (GroupShape{32768, 1}));
}

TEST(Flops, NearestStatedType) {
  const DeviceSpec h100 = FindPreset("8xH100")->device;
  const DeviceSpec tpu = FindPreset("tpu-v5e-256")->device;
  const struct {
    const DeviceSpec& device;
    DType wanted, stated;
  } kRows[] = {{h100, DType::kBF16, DType::kBF16},       {h100, DType::kF8E4M3FNUZ, DType::kF8E4M3FN},
               {h100, DType::kF4E2M1, DType::kF8E4M3FN}, {h100, DType::kI4, DType::kI8},
               {h100, DType::kU8, DType::kI8},           {h100, DType::kI64, DType::kF32},
               {h100, DType::kBool, DType::kF32},        {tpu, DType::kF32, DType::kBF16},
               {tpu, DType::kF64, DType::kBF16},         {tpu, DType::kF8E5M2, DType::kBF16}};
  for (const auto& row : kRows) {
    const FlopsAnswer answer = FlopsFor(row.device, row.wanted);
    EXPECT_EQ(DTypeName(answer.stated), DTypeName(row.stated)) << DTypeName(row.wanted);
    EXPECT_EQ(answer.substituted, row.wanted != row.stated);
    EXPECT_EQ(answer.constant.value, row.device.flops.at(row.stated).value);
  }
}

}  // namespace
}  // namespace sbp
