#include "cost/cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace sbp {
namespace {

using ::testing::HasSubstr;

// Round constants, so that expectations can be computed by hand.
Cluster Simple() {
  Cluster cluster = *FindPreset("cpu");
  cluster.name = "simple";
  cluster.device.flops = {{DType::kF32, {1e12, "test"}}};
  cluster.device.memory_bandwidth = {1e9, "test"};
  cluster.device.compute_efficiency = {0.5, "test"};
  cluster.device.memory_efficiency = {0.5, "test"};
  cluster.device.launch_seconds = {1e-6, "test"};
  cluster.intra_node = {"inner", {100e9, ""}, {1e-6, ""}, {1, ""}};
  cluster.inter_node = {"outer", {10e9, ""}, {10e-6, ""}, {1, ""}};
  return cluster;
}

TEST(Compute, Roofline) {
  const DeviceSpec device = Simple().device;
  EXPECT_DOUBLE_EQ(ComputeSeconds(device, {1e12, 0, DType::kF32}), 2 + 1e-6);
  EXPECT_DOUBLE_EQ(ComputeSeconds(device, {1e6, 1e9, DType::kF32}), 2 + 1e-6);
  EXPECT_EQ(ComputeSeconds(device, {0, 0, DType::kF32}), 0);
}

TEST(Compute, GroupedProductsReachAPartOfWhatOthersDo) {
  DeviceSpec device = FindPreset("8xH100")->device;
  const ContractionShape even{8, 4096, 4096, 4096}, grouped{8, 4096, 4096, 4096, true};
  device.contraction.grouped.value = 1;
  const double before = ContractionEfficiency(device, DType::kBF16, grouped);
  device.contraction.grouped.value = 0.5;
  EXPECT_DOUBLE_EQ(ContractionEfficiency(device, DType::kBF16, grouped), before / 2);
  device.contraction.grouped.value = 0.1;
  EXPECT_GT(ContractionEfficiency(device, DType::kBF16, even), before * 0.9);
}

// cuDNN rounds operands of f32 to TF32, cuBLAS does not.
TEST(Compute, ConvolutionsOfF32RunOnTensorCores) {
  const DeviceSpec device = FindPreset("8xA100-80G")->device;
  const auto seconds = [&](DType dtype, double window) {
    return FlopSeconds(device, {1e12, 0, dtype, {}, ContractionShape{8, 4096, 4096, 9 * 512, false, window}});
  };
  EXPECT_NEAR(seconds(DType::kF32, 9), 2 * seconds(DType::kBF16, 9), 1e-9);
  EXPECT_GT(seconds(DType::kF32, 0), 5 * seconds(DType::kF32, 9));
  EXPECT_DOUBLE_EQ(seconds(DType::kBF16, 9), seconds(DType::kBF16, 0));
}

// Three channels of 16 bits take as long as eight; one a group is computed by vector units.
TEST(Compute, ConvolutionsOfFewChannelsWasteMatrixUnits) {
  const DeviceSpec device = FindPreset("8xA100-80G")->device;
  const auto seconds = [&](double channels, double outputs, double window) {
    const ContractionShape shape{1, 1 << 20, outputs, channels * window, false, window};
    return FlopSeconds(device, {1e12, 0, DType::kF16, {}, shape});
  };
  // Depth of the sums apart, which counts the channels that are there.
  const auto depth = [](double channels) { return 49 * channels / (49 * channels + 64); };
  EXPECT_NEAR(seconds(3, 128, 49) * depth(3), seconds(8, 128, 49) * depth(8) * 8 / 3, 1e-9);
  EXPECT_DOUBLE_EQ(seconds(1, 1, 9), 1e12 / (19.5e12 * 0.9));
  EXPECT_DOUBLE_EQ(seconds(1, 1, 961), seconds(1, 1, 9));
}

// Kernels for a few rows wait for memory; whole tiles of rows are products as any others.
TEST(Compute, FewRowsFillNarrowTiles) {
  const DeviceSpec device = FindPreset("8xH100")->device;
  const auto efficiency = [&](DType dtype, double rows) {
    return ContractionEfficiency(device, dtype, {1, rows, 8192, 4096});
  };
  for (const DType dtype : {DType::kF16, DType::kF32}) {
    double before = 0;
    for (double rows = 1; rows <= 128; ++rows) {
      const double now = efficiency(dtype, rows);
      EXPECT_GE(now, before * (1 - 1e-12));
      before = now;
      EXPECT_DOUBLE_EQ(ContractionEfficiency(device, dtype, {1, 8192, rows, 4096}), now);  // whichever side is short
    }
  }
  // 128 / 129 products an element, where vector units at 67 / 989.5 of the peak need as much less than 64 to be at it;
  // 64 tiles, each in two pieces, on 132 units.
  const double speed = 128.0 / 129 / (64 * 67 / 989.5);
  EXPECT_NEAR(efficiency(DType::kF32, 1), 4096.0 / 4160 * speed * 128 / 132, 1e-12);
}

TEST(Compute, AttentionRunsAtTheSpeedOfItsHeadsPassAndMask) {
  DeviceSpec device = Simple().device;
  const auto seconds = [&](double head, bool backward, bool mask) {
    Work work{1e12, 0, DType::kF32};
    work.attention = {head, backward, mask};
    return FlopSeconds(device, work);
  };
  EXPECT_DOUBLE_EQ(seconds(64, true, true), 2);  // no rows: compute_efficiency
  device.attention = {{64, false, false, {0.5, ""}}, {256, false, false, {1, ""}}, {128, false, true, {0.25, ""}}};
  EXPECT_DOUBLE_EQ(seconds(32, false, false), 4);
  EXPECT_DOUBLE_EQ(seconds(64, false, false), 4);
  EXPECT_DOUBLE_EQ(seconds(128, false, false), 2 / 0.75);  // half-way in the logarithm
  EXPECT_DOUBLE_EQ(seconds(512, false, false), 2);
  EXPECT_DOUBLE_EQ(seconds(64, false, true), 8);
  EXPECT_DOUBLE_EQ(seconds(64, true, true), 2);  // of no row: the pass
  device.attention.push_back({64, true, false, {0.2, ""}});
  EXPECT_DOUBLE_EQ(seconds(64, true, true), 10);  // as without a mask
  EXPECT_FALSE(FastestAttention(device).has_value());
  device.attention.back().speed.value = 1.5;
  ASSERT_TRUE(FastestAttention(device).has_value());
  EXPECT_TRUE(FastestAttention(device)->backward);
}

// Twice the roofline at one size and four times at a thousand times that, of one op alone.
DeviceSpec WithSamples() {
  DeviceSpec device = Simple().device;
  device.launch_seconds.value = 0;
  const auto sample = [&](double bytes, double off) {
    return OpSample{"Exp", DType::kF32, 0, bytes, off * bytes / 0.5e9, "test", bytes / 4};
  };
  device.op_samples = {sample(1e3, 2), sample(1e6, 4)};
  return device;
}

TEST(Compute, SamplesAreMet) {
  const DeviceSpec device = WithSamples();
  EXPECT_NEAR(ComputeSeconds(device, {0, 1e3, DType::kF32, "Exp"}) / (2e3 / 0.5e9), 1, 1e-6);
  EXPECT_NEAR(ComputeSeconds(device, {0, 1e6, DType::kF32, "Exp"}) / (4e6 / 0.5e9), 1, 1e-6);
}

TEST(Compute, LeastSecondsHoldForMoreWork) {
  const DeviceSpec device = WithSamples();
  const Work least{0, 1e4, DType::kF32, "Exp"};
  EXPECT_NEAR(LeastComputeSeconds(device, least), 2 * 1e4 / 0.5e9, 1e-12);  // the sample that is off least
  for (const double bytes : {1e4, 2e4, 1e5, 1e7})
    EXPECT_GE(ComputeSeconds(device, {0, bytes, DType::kF32, "Exp"}), LeastComputeSeconds(device, least)) << bytes;
  const Work other{0, 1e4, DType::kF32, "Log"};  // no samples
  EXPECT_EQ(LeastComputeSeconds(device, other), ComputeSeconds(device, other));
  EXPECT_EQ(LeastComputeSeconds(device, {}), 0);
}

TEST(Compute, BetweenSamplesTheRooflineIsOffAsMuchAsTheyAre) {
  const DeviceSpec device = WithSamples();
  const double middle = std::sqrt(1e3 * 1e6);
  EXPECT_NEAR(ComputeSeconds(device, {0, middle, DType::kF32, "Exp"}) / (middle / 0.5e9), std::sqrt(8), 1e-2);
  // Far away it is off as at the nearest, about; never less than the best or more than the worst.
  const double far = ComputeSeconds(device, {0, 1e9, DType::kF32, "Exp"}) / (1e9 / 0.5e9);
  EXPECT_GT(far, 3);
  EXPECT_LT(far, 4);
}

TEST(Compute, SamplesAreOfOneOpAndType) {
  const DeviceSpec device = WithSamples();
  for (const Work& work : {Work{0, 1e3, DType::kF32, "Log"}, Work{0, 1e3, DType::kF16, "Exp"}, Work{0, 1e3}}) {
    EXPECT_DOUBLE_EQ(ComputeSeconds(device, work), 1e3 / 0.5e9);
  }
}

TEST(Compute, WorkspaceIsAPartOfTheBytes) {
  const DeviceSpec device = WithSamples();
  EXPECT_NEAR(WorkspaceBytes(device, {0, 4e4, DType::kF32, "Exp"}), 1e4, 1e-6);
  EXPECT_EQ(WorkspaceBytes(device, {0, 4e4, DType::kF32, "Log"}), 0);
}

TEST(WireBytes, EqualTheTable) {
  EXPECT_EQ(WireBytes(CollectiveKind::kAllGather, 4, 1600), 1200);
  EXPECT_EQ(WireBytes(CollectiveKind::kReduceScatter, 4, 1600), 1200);
  EXPECT_EQ(WireBytes(CollectiveKind::kAllReduce, 4, 1600), 2400);
  EXPECT_EQ(WireBytes(CollectiveKind::kAllToAll, 4, 1600), 300);
  EXPECT_EQ(WireBytes(CollectiveKind::kSendRecv, 4, 1600), 1600);
  for (CollectiveKind kind : {CollectiveKind::kSlice, CollectiveKind::kFill, CollectiveKind::kPad}) {
    EXPECT_EQ(WireBytes(kind, 4, 1600), 0);
  }
}

TEST(Collective, FallBackByHand) {
  const Cluster cluster = Simple();
  const struct {
    CollectiveKind kind;
    int64_t n;
    GroupShape group;
    double seconds;
  } kRows[] = {
      // launch + steps + bytes: 1e9 x 3/4 at 100 GB/s
      {CollectiveKind::kAllGather, 4, {1, 4}, 1e-6 + 3e-6 + 7.5e-3},
      {CollectiveKind::kReduceScatter, 4, {1, 4}, 1e-6 + 3e-6 + 7.5e-3},
      {CollectiveKind::kAllReduce, 4, {1, 4}, 1e-6 + 6e-6 + 15e-3},
      // one rank a node: one 10 GB/s adapter
      {CollectiveKind::kAllGather, 4, {4, 1}, 1e-6 + 30e-6 + 75e-3},
      // 2 x 2: two adapters together, two inner steps and one between nodes
      {CollectiveKind::kAllGather, 4, {2, 2}, 1e-6 + 2e-6 + 10e-6 + 37.5e-3},
      // 20 adapters would give 200 GB/s, the inner links only 100
      {CollectiveKind::kAllGather, 40, {2, 20}, 1e-6 + 38e-6 + 10e-6 + 9.75e-3},
      {CollectiveKind::kAllToAll, 4, {1, 4}, 1e-6 + 3e-6 + 1e9 * 3 / 16 / 100e9},
      {CollectiveKind::kAllToAll, 4, {2, 2}, 1e-6 + 1e-6 + 10e-6 + 1e9 * 2 / 16 / 10e9},
      {CollectiveKind::kSendRecv, 2, {2, 1}, 1e-6 + 10e-6 + 0.1},
      {CollectiveKind::kSlice, 4, {1, 4}, 1e-6 + 2 * 0.25e9 / 0.5e9},
      {CollectiveKind::kFill, 4, {1, 4}, 1e-6 + 1e9 / 0.5e9},
      {CollectiveKind::kPad, 4, {1, 4}, 2e-6 + 1.5e9 / 0.5e9},  // filled, then the part copied
      {CollectiveKind::kAllReduce, 1, {1, 1}, 0},
  };
  for (const auto& row : kRows) {
    EXPECT_NEAR(CollectiveSeconds(cluster, row.kind, row.n, row.group, 1e9).seconds, row.seconds, 1e-12)
        << CollectiveKindName(row.kind) << " " << row.group.nodes << " x " << row.group.ranks_per_node;
  }
  EXPECT_EQ(CollectiveSeconds(cluster, CollectiveKind::kAllGather, 4, {2, 2}, 1).source,
            "latency and bandwidth of inner and outer, 2 nodes x 2");
}

// Small messages take the fastest protocol, large ones what they took.
TEST(Collective, SmallMessagesTakeTheFastestProtocol) {
  Cluster cluster = Simple();  // launch 1 us, steps 1 and 10 us, links of 100 and 10 GB/s
  cluster.devices_per_node = 4;
  cluster.protocols = {
      {"quick", false, {5e-6, ""}, {0.5e-6, ""}, {2e-6, ""}, {0.25, ""}},
      {"branched", true, {0.5e-6, ""}, {0.5e-6, ""}, {3e-6, ""}, {0.1, ""}},
  };
  const struct {
    CollectiveKind kind;
    int64_t n;
    GroupShape group;
    double bytes, seconds;
  } kRows[] = {
      // base + 7 steps + bytes x 7/8 at 10 GB/s x 0.25; the tree is of all-reduces
      {CollectiveKind::kAllGather, 8, {8, 1}, 8e3, 5e-6 + 14e-6 + 7e3 / 2.5e9},
      // launch, which is more than the base, + up and down 3 levels + twice the bytes at 10 GB/s x 0.1
      {CollectiveKind::kAllReduce, 8, {8, 1}, 800, 1e-6 + 18e-6 + 1600 / 1e9},
      // the ring's rate is higher
      {CollectiveKind::kAllReduce, 8, {8, 1}, 80e3, 5e-6 + 28e-6 + 140e3 / 2.5e9},
      // and a large message takes neither
      {CollectiveKind::kAllReduce, 8, {8, 1}, 1e9, 1e-6 + 140e-6 + 1.75e9 / 10e9},
      // 2 x 4: chains of three steps within nodes, one level, four adapters
      {CollectiveKind::kAllReduce, 8, {2, 4}, 800, 1e-6 + 2 * (1.5e-6 + 3e-6) + 1600 / 4e9},
      // six steps within nodes, one between them
      {CollectiveKind::kReduceScatter, 8, {2, 4}, 800, 5e-6 + 3e-6 + 2e-6 + 700 / 10e9},
      {CollectiveKind::kAllReduce, 4, {1, 4}, 800, 1e-6 + 3e-6 + 1600 / 10e9},
      {CollectiveKind::kAllToAll, 4, {4, 1}, 800, 1e-6 + 30e-6 + 150 / 10e9},
  };
  for (const auto& row : kRows) {
    EXPECT_NEAR(CollectiveSeconds(cluster, row.kind, row.n, row.group, row.bytes).seconds, row.seconds, 1e-12)
        << CollectiveKindName(row.kind) << " " << row.group.nodes << " x " << row.group.ranks_per_node;
    EXPECT_EQ(CollectiveTime(cluster, row.kind, row.n, row.group, row.bytes),
              CollectiveSeconds(cluster, row.kind, row.n, row.group, row.bytes).seconds);
  }
  EXPECT_EQ(CollectiveSeconds(cluster, CollectiveKind::kAllReduce, 8, {2, 4}, 800).source,
            "small messages over inner and outer, 2 nodes x 4: branched in a tree");
  // Curves over nodes are beaten, too, within a node they are not, and nothing is faster than there.
  cluster.samples = {{CollectiveKind::kAllGather, 1, 4, 0, 30e-6, "measured"},
                     {CollectiveKind::kAllGather, 1, 4, 1e9, 1, "measured"},
                     {CollectiveKind::kAllGather, 2, 4, 0, 70e-6, "ring"},
                     {CollectiveKind::kAllGather, 2, 4, 1e9, 2, "ring"}};
  EXPECT_DOUBLE_EQ(CollectiveTime(cluster, CollectiveKind::kAllGather, 4, {1, 4}, 0), 30e-6);
  EXPECT_DOUBLE_EQ(CollectiveTime(cluster, CollectiveKind::kAllGather, 8, {2, 4}, 0), 30e-6);
  EXPECT_DOUBLE_EQ(CollectiveTime(cluster, CollectiveKind::kAllGather, 8, {2, 4}, 1e9), 1);
  // What was measured of just this call counts, and so does what only who measured knows of runs.
  cluster.samples.push_back({CollectiveKind::kAllGather, 2, 4, 512, 90e-6, "measured", 0, true});
  EXPECT_DOUBLE_EQ(CollectiveTime(cluster, CollectiveKind::kAllGather, 8, {2, 4}, 512), 90e-6);
  EXPECT_LT(CollectiveTime(cluster, CollectiveKind::kAllGather, 8, {2, 4}, 511), 70e-6);
  EXPECT_GE(CollectiveTime(cluster, CollectiveKind::kAllGather, 8, {2, 4}, 511, 64), 70e-6);
}

// As many ranks of one node are never slower than those of several.
TEST(Collective, PresetsAreFasterWithinANode) {
  for (const PresetRow& row : AllPresets()) {
    const Cluster cluster = *FindPreset(row.name);
    for (const CollectiveKind kind :
         {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter, CollectiveKind::kAllReduce}) {
      for (const int64_t ranks : {2, 4, 8}) {
        if (ranks > cluster.devices_per_node) continue;
        for (double bytes = 1; bytes < 1e10; bytes *= 4) {
          const double inside = CollectiveTime(cluster, kind, ranks, {1, ranks}, bytes);
          for (int64_t nodes = 2; nodes <= ranks; nodes *= 2) {
            EXPECT_LE(inside, CollectiveTime(cluster, kind, ranks, {nodes, ranks / nodes}, bytes) * (1 + 1e-12))
                << row.name << " " << CollectiveKindName(kind) << " " << nodes << " nodes of " << ranks << ", "
                << bytes;
          }
        }
      }
    }
  }
}

// Within a compiled graph a local move waits in the queue as any other kernel; a collective over links does not.
TEST(Collective, LocalMovesOfACompiledGraphAreQueued) {
  Cluster cluster = Simple();
  cluster.device.queued_launch_seconds = {0.25e-6, "test"};
  const auto launch = [&](CollectiveKind kind, double touched) {
    return CollectiveTime(cluster, kind, 4, {1, 4}, 400, 0) - touched / 0.5e9;
  };
  const auto expect_all = [&](double seconds) {
    EXPECT_NEAR(launch(CollectiveKind::kSlice, 200), seconds, 1e-12);
    EXPECT_NEAR(launch(CollectiveKind::kFill, 400), seconds, 1e-12);
    EXPECT_NEAR(launch(CollectiveKind::kPad, 600), 2 * seconds, 1e-12);
  };
  expect_all(1e-6);  // eager
  const double all_reduce = CollectiveTime(cluster, CollectiveKind::kAllReduce, 4, {1, 4}, 400, 0);
  cluster.execution = Execution::kFused;
  expect_all(0.25e-6);
  EXPECT_EQ(CollectiveTime(cluster, CollectiveKind::kAllReduce, 4, {1, 4}, 400, 0), all_reduce);
  cluster.fused_scopes = {"layers.*"};  // between what is compiled: not known to be in its queue
  expect_all(1e-6);
  cluster.fused_scopes.clear();
  cluster.device.queued_launch_seconds.reset();
  expect_all(1e-6);
}

TEST(Collective, CurvesBeatTheFallBack) {
  Cluster cluster = Simple();
  cluster.samples = {{CollectiveKind::kAllGather, 1, 4, 100, 1, "m"},
                     {CollectiveKind::kAllGather, 1, 4, 200, 3, "m"},
                     {CollectiveKind::kAllGather, 1, 4, 400, 4, "m"},
                     {CollectiveKind::kAllReduce, 1, 4, 100, 1, "m"},
                     {CollectiveKind::kAllReduce, 2, 4, 0, 0.5, "m"}};
  const struct {
    CollectiveKind kind;
    GroupShape group;
    double bytes, seconds;
  } kRows[] = {{CollectiveKind::kAllGather, {1, 4}, 50, 1},    {CollectiveKind::kAllGather, {1, 4}, 100, 1},
               {CollectiveKind::kAllGather, {1, 4}, 150, 2},   {CollectiveKind::kAllGather, {1, 4}, 200, 3},
               {CollectiveKind::kAllGather, {1, 4}, 300, 3.5}, {CollectiveKind::kAllGather, {1, 4}, 800, 6},
               {CollectiveKind::kAllReduce, {1, 4}, 200, 2},   {CollectiveKind::kAllReduce, {2, 4}, 200, 0.5}};
  for (const auto& row : kRows) {
    EXPECT_DOUBLE_EQ(CollectiveSeconds(cluster, row.kind, 4, row.group, row.bytes).seconds, row.seconds) << row.bytes;
  }
  EXPECT_THAT(CollectiveSeconds(cluster, CollectiveKind::kAllGather, 4, {1, 4}, 1).source,
              HasSubstr("curve of simple"));
  EXPECT_THAT(CollectiveSeconds(cluster, CollectiveKind::kAllGather, 2, {1, 2}, 1).source, HasSubstr("inner"));
}

// A library may do a larger message in a faster way; what is larger still is not taken to be faster and faster.
TEST(Collective, CurvesMayFall) {
  Cluster cluster = Simple();
  constexpr auto kKind = CollectiveKind::kAllReduce;
  cluster.samples = {{kKind, 1, 2, 100, 4, "m"}, {kKind, 1, 2, 200, 2, "m"}};
  const auto seconds = [&](double bytes) { return CollectiveTime(cluster, kKind, 2, {1, 2}, bytes); };
  EXPECT_DOUBLE_EQ(seconds(150), 3);
  EXPECT_DOUBLE_EQ(seconds(200), 2);
  EXPECT_DOUBLE_EQ(seconds(400), 2);
}

TEST(Collective, ShorterRunsCostMore) {
  Cluster cluster = Simple();
  constexpr auto kKind = CollectiveKind::kAllGather;
  const auto seconds = [&](double bytes, double run) { return CollectiveTime(cluster, kKind, 2, {1, 2}, bytes, run); };
  cluster.samples = {{kKind, 1, 2, 100, 1, "m"}, {kKind, 1, 2, 200, 2, "m"}};
  EXPECT_DOUBLE_EQ(seconds(150, 0), 1.5);
  EXPECT_DOUBLE_EQ(seconds(150, 4), 1.5);  // nothing is known of runs
  cluster.samples.push_back({kKind, 1, 2, 100, 5, "m", 8});
  EXPECT_DOUBLE_EQ(seconds(150, 0), 1.5);
  EXPECT_DOUBLE_EQ(seconds(100, 4), 5);
  EXPECT_DOUBLE_EQ(seconds(100, 64), 5);
  cluster.samples.push_back({kKind, 1, 2, 100, 3, "m", 32});
  for (const auto& [run, expected] :
       {std::pair(0.0, 1.0), {1e6, 3.0}, {32.0, 3.0}, {16.0, 3 + 2 / 3.0}, {8.0, 5.0}, {4.0, 5 + 8 / 3.0}}) {
    EXPECT_DOUBLE_EQ(seconds(100, run), expected) << run;
  }
  cluster.samples.erase(cluster.samples.begin(), cluster.samples.begin() + 2);  // nothing of one run
  EXPECT_DOUBLE_EQ(seconds(100, 0), 3);
  EXPECT_DOUBLE_EQ(seconds(100, 8), 5);
}

TEST(Collective, SamplesThatStandAloneBeatTheCurves) {
  Cluster cluster = Simple();
  constexpr auto kKind = CollectiveKind::kAllGather;
  const auto seconds = [&](double bytes, double run) { return CollectiveTime(cluster, kKind, 2, {1, 2}, bytes, run); };
  const double links = seconds(100, 8);
  cluster.samples = {{kKind, 1, 2, 100, 70, "m", 8, true}, {kKind, 1, 2, 100, 90, "m", 16, true}};
  EXPECT_DOUBLE_EQ(seconds(100, 8), 70);
  EXPECT_DOUBLE_EQ(seconds(100, 16), 90);
  EXPECT_DOUBLE_EQ(seconds(100, 4), links);  // no curve
  EXPECT_DOUBLE_EQ(seconds(101, 8), seconds(101, 4));
  cluster.samples.insert(cluster.samples.begin(), {{kKind, 1, 2, 100, 1, "m"}, {kKind, 1, 2, 200, 2, "m"}});
  EXPECT_DOUBLE_EQ(seconds(100, 8), 70);
  EXPECT_DOUBLE_EQ(seconds(100, 0), 1);
  EXPECT_DOUBLE_EQ(seconds(150, 8), 1.5);
}

// The figures of the presets' sources, at the size they were measured at.
TEST(Collective, PresetsGiveTheRecordedRates) {
  const Cluster h100 = *FindPreset("8xH100");
  const double seconds = CollectiveSeconds(h100, CollectiveKind::kAllReduce, 8, {1, 8}, 1e9).seconds;
  EXPECT_NEAR(1e9 / (seconds - 31e-6), 267e9, 1e6);
  // The fall-back between nodes agrees with the ring figures that are not in the table (8 and 16 nodes lie between).
  const double measured = CollectiveSeconds(h100, CollectiveKind::kAllGather, 256, {32, 8}, 1e9).seconds;
  Cluster without = h100;
  without.samples.clear();
  const double fallen_back = CollectiveSeconds(without, CollectiveKind::kAllGather, 256, {32, 8}, 1e9).seconds;
  EXPECT_NEAR(fallen_back / measured, 1, 0.2);
}

// More bytes and more nodes never take less, whatever protocol is fastest.
TEST(Collective, PresetsGrowWithBytesAndNodes) {
  for (const PresetRow& row : AllPresets()) {
    const Cluster cluster = *FindPreset(row.name);
    for (const CollectiveKind kind :
         {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter, CollectiveKind::kAllReduce}) {
      for (const int64_t ranks : {1, 8}) {
        double before = 0;
        for (double bytes = 1; bytes < 1e10; bytes *= 4) {
          double fewer = 0;
          for (const int64_t nodes : {1, 2, 4, 8, 16, 32, 64}) {
            const double seconds = CollectiveTime(cluster, kind, nodes * ranks, {nodes, ranks}, bytes);
            // Curves of a few shapes stand beside fall-backs for the others.
            EXPECT_GE(seconds, fewer * 0.8) << row.name << " " << nodes << " x " << ranks << ", " << bytes;
            fewer = seconds;
          }
          EXPECT_GE(fewer, before) << row.name << " " << ranks << ", " << bytes;
          before = fewer;
        }
      }
    }
  }
}

}  // namespace
}  // namespace sbp
