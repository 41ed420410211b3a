#include <algorithm>

#include "cluster/cluster.h"
#include "cluster/collective_kind.h"
#include "cost/collective.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

bool ExchangeLegal(const NdSbp& from, const NdSbp& to, int axis) {
  return from[axis].is_split() && to[axis].is_split() && from[axis] != to[axis] &&
         IsInnermostSplit(from, axis, from[axis].dim()) && IsInnermostSplit(to, axis, to[axis].dim());
}

double ExchangeBytes(double ranks, double bytes) { return bytes * (ranks - 1) / (ranks * ranks); }

// Pairwise: each rank sends a part to each other one; the parts for other nodes go through its own adapter while those
// for its own node go over the inner links.
double ExchangeSeconds(const CollectiveCall& call) {
  const Cluster& cluster = call.cluster;
  const auto n = static_cast<double>(call.ranks);
  const double part = call.bytes / n / n;
  const auto inside = static_cast<double>(std::min(call.ranks, call.group.ranks_per_node) - 1);
  const double crossing = n - 1 - inside;
  const double latency = inside * cluster.intra_node.latency_seconds.value +
                         static_cast<double>(call.group.nodes - 1) * cluster.inter_node.latency_seconds.value;
  return cluster.device.launch_seconds.value + latency +
         std::max(part * inside / LinkRate(cluster.intra_node), part * crossing / LinkRate(cluster.inter_node));
}

}  // namespace

CollectiveRow AllToAllCollective() {
  return {.kind = CollectiveKind::kAllToAll,
          .doc = "S(i) -> S(j): every rank sends each other one a piece of its part",
          .legal = ExchangeLegal,
          .wire_bytes = ExchangeBytes,
          .seconds = ExchangeSeconds,
          .colours = {"#8440BD", "#592785", "#FFFFFF"}};
}

}  // namespace sbp
