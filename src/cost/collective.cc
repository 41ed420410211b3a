// Price of one collective: a measured curve where there is one, else latency and bandwidth of the links crossed.
#include "cost/collective.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "cluster/collective_kind.h"
#include "cost/cost.h"

namespace sbp {
namespace {

// The samples of one (kind, nodes, ranks per node), ascending by length of runs and bytes, those that stand alone last.
std::span<const CollectiveSample> SamplesOf(const Cluster& cluster, CollectiveKind kind, GroupShape group) {
  const auto key = [](const CollectiveSample& s) { return std::tuple(s.kind, s.nodes, s.ranks_per_node); };
  const auto wanted = std::tuple(kind, group.nodes, group.ranks_per_node);
  const auto begin = std::lower_bound(cluster.samples.begin(), cluster.samples.end(), wanted,
                                      [&](const CollectiveSample& s, const auto& w) { return key(s) < w; });
  auto end = begin;
  while (end != cluster.samples.end() && key(*end) == wanted) ++end;
  return {begin, end};
}

// Linear between samples, each of which counts as it was measured: a library may do a larger message in a faster way.
// Below the first one its time is kept: smaller messages are not known to be faster. Above the last one the line goes
// on with the slope of the last two where they rise, or, with one sample, through the origin.
double Interpolate(std::span<const CollectiveSample> curve, double bytes) {
  if (bytes <= curve.front().bytes) return curve.front().seconds;
  if (curve.size() == 1) return curve[0].bytes > 0 ? curve[0].seconds * bytes / curve[0].bytes : curve[0].seconds;
  size_t upper = 1;
  while (upper + 1 < curve.size() && curve[upper].bytes < bytes) ++upper;
  const CollectiveSample& a = curve[upper - 1];
  const CollectiveSample& b = curve[upper];
  const double slope = (b.seconds - a.seconds) / (b.bytes - a.bytes);
  return b.seconds + (bytes > b.bytes ? std::max(0.0, slope) : slope) * (bytes - b.bytes);
}

// Takes the samples of the first length of runs off `rest`.
std::span<const CollectiveSample> NextCurve(std::span<const CollectiveSample>& rest) {
  size_t size = 1;
  while (size < rest.size() && rest[size].run_bytes == rest[0].run_bytes) ++size;
  const std::span<const CollectiveSample> curve = rest.first(size);
  rest = rest.subspan(size);
  return curve;
}

double Interpolate(std::span<const CollectiveSample> samples, double bytes, double run_bytes) {
  std::span<const CollectiveSample> rest = samples;
  std::span<const CollectiveSample> curve = NextCurve(rest);
  const bool whole = curve.front().run_bytes == 0;
  if (rest.empty() || (whole && run_bytes == 0)) return Interpolate(curve, bytes);
  if (whole) curve = NextCurve(rest);
  const double runs = run_bytes == 0 ? 0 : 1 / run_bytes;  // of a byte
  while (!rest.empty()) {
    const std::span<const CollectiveSample> longer = NextCurve(rest);
    const double most = 1 / curve.front().run_bytes, least = 1 / longer.front().run_bytes;
    if (runs > least || rest.empty()) {
      const double a = Interpolate(longer, bytes), b = Interpolate(curve, bytes);
      return a + std::max(0.0, b - a) * std::max(0.0, runs - least) / (most - least);
    }
    curve = longer;
  }
  return Interpolate(curve, bytes);
}

// Nothing: no sample tells.
std::optional<double> MeasuredSeconds(std::span<const CollectiveSample> samples, double bytes, double run_bytes) {
  const auto alone =
      std::partition_point(samples.begin(), samples.end(), [](const CollectiveSample& s) { return !s.alone; });
  const auto key = [](const CollectiveSample& s) { return std::pair(s.run_bytes, s.bytes); };
  const std::pair wanted(run_bytes, bytes);
  const auto same = std::lower_bound(alone, samples.end(), wanted,
                                     [&](const CollectiveSample& s, const auto& w) { return key(s) < w; });
  if (same != samples.end() && key(*same) == wanted) return same->seconds;
  if (alone == samples.begin()) return std::nullopt;
  return Interpolate({samples.begin(), alone}, bytes, run_bytes);
}

std::string LinkNames(const Cluster& cluster, GroupShape group) {
  if (group.nodes == 1) return cluster.intra_node.name;
  if (group.ranks_per_node == 1) return cluster.inter_node.name;
  return cluster.intra_node.name + " and " + cluster.inter_node.name;
}

std::string ShapeName(GroupShape group) {
  return StrCat(group.nodes, group.nodes == 1 ? " node x " : " nodes x ", group.ranks_per_node);
}

}  // namespace

double NothingSent(double /*ranks*/, double /*bytes*/) { return 0; }

double LinkRate(const LinkSpec& link) { return link.bandwidth.value * link.efficiency.value; }

double RingSeconds(const CollectiveCall& call, double rounds, double wire_bytes) {
  const Cluster& cluster = call.cluster;
  const GroupShape group = call.group;
  const double crossing = static_cast<double>(group.nodes - 1);
  const double inside = static_cast<double>(call.ranks - 1) - crossing;
  double rate = group.ranks_per_node > 1 ? LinkRate(cluster.intra_node) : LinkRate(cluster.inter_node);
  if (group.nodes > 1) {
    rate = std::min(rate, LinkRate(cluster.inter_node) * static_cast<double>(group.ranks_per_node));
  }
  return cluster.device.launch_seconds.value +
         rounds *
             (inside * cluster.intra_node.latency_seconds.value + crossing * cluster.inter_node.latency_seconds.value) +
         wire_bytes / rate;
}

double TouchSeconds(const CollectiveCall& call, double bytes) {
  const Cluster& cluster = call.cluster;
  const bool queued = cluster.execution == Execution::kFused && cluster.fused_scopes.empty();
  const double launch = queued ? QueuedLaunchSeconds(cluster.device) : cluster.device.launch_seconds.value;
  return bytes > 0 ? ByteSeconds(cluster.device, bytes) + launch : 0;
}

bool IsInnermostSplit(const NdSbp& sbp, int axis, int dim) {
  for (int inner = axis + 1; inner < sbp.size(); ++inner) {
    if (sbp[inner].is_split(dim)) return false;
  }
  return true;
}

double WireBytes(CollectiveKind kind, int64_t ranks, double bytes) {
  return RowOf(kind).wire_bytes(static_cast<double>(ranks), bytes);
}

double CollectiveTime(const Cluster& cluster, CollectiveKind kind, int64_t n, GroupShape group, double bytes,
                      double run_bytes) {
  const CollectiveRow& row = RowOf(kind);
  if (n <= 1 && !row.point_to_point) return 0;
  if (const auto seconds = MeasuredSeconds(SamplesOf(cluster, kind, group), bytes, run_bytes)) return *seconds;
  return row.seconds({cluster, n, group, bytes});
}

CollectivePrice CollectiveSeconds(const Cluster& cluster, CollectiveKind kind, int64_t n, GroupShape group,
                                  double bytes, double run_bytes) {
  const double seconds = CollectiveTime(cluster, kind, n, group, bytes, run_bytes);
  const CollectiveRow& row = RowOf(kind);
  if (n <= 1 && !row.point_to_point) return {seconds, "one rank: nothing to do"};
  const std::span<const CollectiveSample> samples = SamplesOf(cluster, kind, group);
  if (MeasuredSeconds(samples, bytes, run_bytes)) {
    return {seconds, StrCat("curve of ", cluster.name, ", ", row.name(), " on ", ShapeName(group), ": ",
                            samples.front().source)};
  }
  if (row.local) return {seconds, "local copy at memory bandwidth"};
  return {seconds, StrCat("latency and bandwidth of ", LinkNames(cluster, group), ", ", ShapeName(group))};
}

}  // namespace sbp
