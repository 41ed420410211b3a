// Who sends how much to whom in collectives, for pictures: prices (cost/collective.h) know what each rank sends alone.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/cluster.h"
#include "cluster/collective_kind.h"
#include "sbp/mesh.h"

namespace sbp {

// To whom a rank of a group sends, as the prices assume: rings (Thakur et al. 2005) in the order of ranks, each to the
// next one and the last to the first; pairwise exchanges, to each other rank the same. Libraries run several rings in
// parallel, which cross between nodes at different devices: what goes from node to node is the same.
enum class Peers : uint8_t { kNext, kAll, kNeighbours };
Peers PeersOf(CollectiveKind kind);

// The devices of a mesh by ascending rank, in blocks of as many each but for the last: one device each, or whole nodes'
// worth of them where there are more than kMaxTrafficBlocks devices.
inline constexpr int64_t kMaxTrafficBlocks = 64;
struct DeviceBlocks {
  int64_t devices = 0, per_block = 1, count = 0;
};
DeviceBlocks BlocksOf(const Mesh& mesh, const Cluster& cluster);

struct Traffic {
  std::vector<double> bytes;  // row-major, count x count: from a block to a block; the diagonal: within it
  double inside = 0;          // of all bytes: between devices of one node
  double across = 0;          // and of different ones
};
// `bytes` that all ranks of the mesh together send in collectives of one kind over one axis, every rank the same, as
// bytes between devices. They add up to `bytes`. Nothing where the axis has one device, or the mesh more than
// kMaxTrafficDevices. Time: O(devices x kMaxTrafficBlocks).
inline constexpr int64_t kMaxTrafficDevices = int64_t{1} << 20;
Traffic TrafficOf(const Mesh& mesh, const Cluster& cluster, int axis, CollectiveKind kind, double bytes);

}  // namespace sbp
