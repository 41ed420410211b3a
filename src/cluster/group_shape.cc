// How the groups of a mesh axis lie on nodes.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/checked_math.h"
#include "cluster/cluster.h"
#include "sbp/mesh.h"

namespace sbp {
namespace {

// More nodes is worse; on equally many, fewer ranks per node: fewer adapters serve each node's share.
GroupShape Worse(GroupShape a, GroupShape b) {
  if (a.nodes != b.nodes) return a.nodes > b.nodes ? a : b;
  return a.ranks_per_node <= b.ranks_per_node ? a : b;
}

// Ranks start, start + stride, ... (n of them) on nodes of `per_node` ranks.
GroupShape RegularGroup(int64_t start, int64_t stride, int64_t n, int64_t per_node) {
  if (stride >= per_node) return {n, 1};
  const int64_t last = start + (n - 1) * stride;
  const int64_t nodes = last / per_node - start / per_node + 1;
  if (nodes == 1) return {1, n};
  const int64_t on_first = CeilDiv(per_node - start % per_node, stride);
  const int64_t on_last = last % per_node / stride + 1;
  const int64_t on_full = nodes > 2 ? CeilDiv(per_node, stride) : 0;
  return {nodes, std::min(n, std::max({on_first, on_last, on_full}))};
}

GroupShape ListedGroup(const std::vector<int64_t>& ranks, int64_t start, int64_t stride, int64_t n, int64_t per_node) {
  std::map<int64_t, int64_t> counts;
  for (int64_t i = 0; i < n; ++i) ++counts[ranks[start + i * stride] / per_node];
  GroupShape shape{static_cast<int64_t>(counts.size()), 0};
  for (const auto& [node, count] : counts) shape.ranks_per_node = std::max(shape.ranks_per_node, count);
  return shape;
}

}  // namespace

GroupShape AxisGroupShape(const Cluster& cluster, const Mesh& mesh, int axis) {
  const int64_t per_node = cluster.devices_per_node;
  const int64_t n = mesh.size(axis);
  int64_t stride = 1;
  for (int i = axis + 1; i < mesh.num_axes(); ++i) stride *= mesh.size(i);
  if (mesh.ranks.empty() && stride >= per_node) return {n, 1};

  // Without a list of ranks the groups' places on their nodes repeat long before so many groups are seen.
  constexpr int64_t kMaxGroups = 1 << 16;
  std::optional<GroupShape> worst;
  int64_t seen = 0;
  for (int64_t outer = 0; outer < mesh.num_devices(); outer += n * stride) {
    for (int64_t start = outer; start < outer + stride; ++start) {
      if (mesh.ranks.empty() && ++seen > kMaxGroups) return *worst;
      const GroupShape shape = mesh.ranks.empty() ? RegularGroup(start, stride, n, per_node)
                                                  : ListedGroup(mesh.ranks, start, stride, n, per_node);
      worst = worst ? Worse(*worst, shape) : shape;
    }
  }
  return worst.value_or(GroupShape{});
}

}  // namespace sbp
