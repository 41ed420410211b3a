// Who sends how much to whom in collectives.
#include "cost/traffic.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

namespace sbp {
namespace {

Cluster NodesOf(int64_t devices) {
  Cluster cluster;
  cluster.num_nodes = 1024;
  cluster.devices_per_node = devices;
  return cluster;
}

double Sum(const Traffic& traffic) { return std::accumulate(traffic.bytes.begin(), traffic.bytes.end(), 0.0); }

TEST(Traffic, RingsGoToTheNextRank) {
  // Groups of "y" are (0, 1, 2, 3) and (4, 5, 6, 7); nodes hold two devices each.
  const Traffic traffic = TrafficOf(*ParseMesh("x=2,y=4"), NodesOf(2), 1, CollectiveKind::kAllGather, 80);
  const auto at = [&](size_t from, size_t to) { return traffic.bytes[from * 8 + to]; };
  for (const auto& [from, to] : {std::pair{0, 1}, {1, 2}, {2, 3}, {3, 0}, {4, 5}, {7, 4}}) EXPECT_EQ(at(from, to), 10);
  EXPECT_EQ(at(1, 0), 0);
  EXPECT_EQ(at(3, 4), 0);
  EXPECT_EQ(Sum(traffic), 80);
  EXPECT_EQ(traffic.inside, 40);  // 0-1, 2-3, 4-5, 6-7
  EXPECT_EQ(traffic.across, 40);
}

TEST(Traffic, ExchangesGoToAllOthers) {
  const Traffic traffic = TrafficOf(*ParseMesh("x=2,y=4"), NodesOf(2), 1, CollectiveKind::kAllToAll, 240);
  for (size_t from = 0; from < 8; ++from) {
    for (size_t to = 0; to < 8; ++to) {
      EXPECT_EQ(traffic.bytes[from * 8 + to], from != to && from / 4 == to / 4 ? 10 : 0) << from << " " << to;
    }
  }
  EXPECT_EQ(traffic.inside, 80);
  EXPECT_EQ(traffic.across, 160);
}

TEST(Traffic, NeighboursGetAHalfEach) {
  const Traffic traffic = TrafficOf(*ParseMesh("4"), NodesOf(4), 0, CollectiveKind::kSendRecv, 80);
  EXPECT_EQ(traffic.bytes[0 * 4 + 1], 10);
  EXPECT_EQ(traffic.bytes[0 * 4 + 3], 10);
  EXPECT_EQ(traffic.bytes[0 * 4 + 2], 0);
  EXPECT_EQ(Sum(traffic), 80);
}

TEST(Traffic, RanksSayWhereDevicesAre) {
  // The ring is 0, 1, 2, 3 in whatever order the mesh lists them; devices stand by rank.
  const Traffic traffic = TrafficOf(*ParseMesh("x=4@[3,1,0,2]"), NodesOf(2), 0, CollectiveKind::kReduceScatter, 40);
  EXPECT_EQ(traffic.bytes[0 * 4 + 1], 10);
  EXPECT_EQ(traffic.bytes[3 * 4 + 0], 10);
  EXPECT_EQ(traffic.inside, 20);
}

TEST(Traffic, ManyDevicesStandInBlocksOfWholeNodes) {
  const Mesh mesh = *ParseMesh("x=100,y=8");
  const DeviceBlocks blocks = BlocksOf(mesh, NodesOf(8));
  EXPECT_EQ(blocks.per_block, 16);  // 800 / 64 is 12.5: two nodes
  EXPECT_EQ(blocks.count, 50);
  for (const CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllToAll, CollectiveKind::kSendRecv}) {
    for (const int axis : {0, 1}) {
      const Traffic traffic = TrafficOf(mesh, NodesOf(8), axis, kind, 1e9);
      ASSERT_EQ(traffic.bytes.size(), 2500U);
      EXPECT_NEAR(Sum(traffic), 1e9, 1) << axis;
      EXPECT_NEAR(traffic.inside + traffic.across, 1e9, 1) << axis;
      EXPECT_EQ(traffic.across > 0, axis == 0);
    }
  }
}

TEST(Traffic, NoPeersNoTraffic) {
  EXPECT_TRUE(TrafficOf(*ParseMesh("x=1,y=4"), NodesOf(8), 0, CollectiveKind::kAllReduce, 0).bytes.empty());
}

}  // namespace
}  // namespace sbp
