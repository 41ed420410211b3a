#include "cost/traffic.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>

#include "base/checked_math.h"

namespace sbp {
namespace {

// A device of a group: its block, and its node.
struct Place {
  int64_t rank = 0, block = 0, node = 0;
};

class TrafficSum {
 public:
  TrafficSum(const DeviceBlocks& blocks, double per_rank) : count_(blocks.count), per_rank_(per_rank) {
    sum_.bytes.assign(static_cast<size_t>(count_ * count_), 0);
  }

  // `group`: by rank.
  void Add(const std::vector<Place>& group, Peers peers) {
    switch (peers) {
      case Peers::kNext:
        return AddRing(group, 1, per_rank_);
      case Peers::kNeighbours:
        AddRing(group, 1, per_rank_ / 2);
        return AddRing(group, group.size() - 1, per_rank_ / 2);
      case Peers::kAll:
        return AddPairs(group);
    }
  }

  Traffic Finish() { return std::move(sum_); }

 private:
  double& At(int64_t from, int64_t to) { return sum_.bytes[static_cast<size_t>(from * count_ + to)]; }

  void AddRing(const std::vector<Place>& group, size_t ahead, double bytes) {
    for (size_t i = 0; i < group.size(); ++i) {
      const Place& from = group[i];
      const Place& to = group[(i + ahead) % group.size()];
      At(from.block, to.block) += bytes;
      (from.node == to.node ? sum_.inside : sum_.across) += bytes;
    }
  }

  // By how many devices of the group lie where: pairs one by one would be quadratic in devices.
  void AddPairs(const std::vector<Place>& group) {
    std::map<int64_t, double> in_block, in_node;
    for (const Place& place : group) {
      ++in_block[place.block];
      ++in_node[place.node];
    }
    const auto size = static_cast<double>(group.size());
    const double bytes = per_rank_ / (size - 1);
    for (const auto& [from, senders] : in_block) {
      for (const auto& [to, readers] : in_block) At(from, to) += bytes * senders * (from == to ? senders - 1 : readers);
    }
    for (const auto& [node, devices] : in_node) {
      sum_.inside += bytes * devices * (devices - 1);
      sum_.across += bytes * devices * (size - devices);
    }
  }

  int64_t count_;
  double per_rank_;
  Traffic sum_;
};

// Per position of the mesh.
std::vector<Place> PlacesOf(const Mesh& mesh, const Cluster& cluster, const DeviceBlocks& blocks) {
  std::vector<Place> places(static_cast<size_t>(blocks.devices));
  std::vector<size_t> by_rank(places.size());
  std::iota(by_rank.begin(), by_rank.end(), size_t{0});
  for (size_t i = 0; i < places.size(); ++i) places[i].rank = mesh.rank(static_cast<int64_t>(i));
  std::ranges::sort(by_rank, {}, [&](size_t i) { return places[i].rank; });
  for (size_t i = 0; i < by_rank.size(); ++i) {
    Place& place = places[by_rank[i]];
    place.block = static_cast<int64_t>(i) / blocks.per_block;
    place.node = place.rank / std::max<int64_t>(1, cluster.devices_per_node);
  }
  return places;
}

}  // namespace

Peers PeersOf(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllToAll:
      return Peers::kAll;
    case CollectiveKind::kSendRecv:
      return Peers::kNeighbours;
    default:
      return Peers::kNext;
  }
}

DeviceBlocks BlocksOf(const Mesh& mesh, const Cluster& cluster) {
  DeviceBlocks blocks{.devices = mesh.num_devices()};
  if (blocks.devices > kMaxTrafficBlocks) {
    const int64_t least = CeilDiv(blocks.devices, kMaxTrafficBlocks);
    const int64_t node = std::max<int64_t>(1, cluster.devices_per_node);
    blocks.per_block = CeilDiv(least, node) * node;
  }
  blocks.count = CeilDiv(blocks.devices, blocks.per_block);
  return blocks;
}

Traffic TrafficOf(const Mesh& mesh, const Cluster& cluster, int axis, CollectiveKind kind, double bytes) {
  const DeviceBlocks blocks = BlocksOf(mesh, cluster);
  if (blocks.devices > kMaxTrafficDevices || mesh.size(axis) < 2) return {};
  const std::vector<Place> places = PlacesOf(mesh, cluster, blocks);
  TrafficSum sum(blocks, bytes / static_cast<double>(blocks.devices));
  const int64_t size = mesh.size(axis);
  int64_t stride = 1;
  for (int inner = axis + 1; inner < mesh.num_axes(); ++inner) stride *= mesh.size(inner);
  std::vector<Place> group(static_cast<size_t>(size));
  for (int64_t outer = 0; outer < blocks.devices; outer += size * stride) {
    for (int64_t start = outer; start < outer + stride; ++start) {
      for (int64_t i = 0; i < size; ++i) {
        group[static_cast<size_t>(i)] = places[static_cast<size_t>(start + i * stride)];
      }
      std::ranges::sort(group, {}, &Place::rank);
      sum.Add(group, PeersOf(kind));
    }
  }
  return sum.Finish();
}

}  // namespace sbp
