// Price of one collective: a measured curve where there is one, else latency and bandwidth of the links crossed.
#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "base/text.h"
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

double Rate(const LinkSpec& link) { return link.bandwidth.value * link.efficiency.value; }

// Ring collectives: n - 1 steps (twice for all-reduce), of which nodes - 1 cross nodes. All adapters of a node share
// its traffic to the next one, as the libraries' parallel rings do.
double RingSeconds(const Cluster& cluster, CollectiveKind kind, int64_t n, GroupShape group, double bytes) {
  const double rounds = kind == CollectiveKind::kAllReduce ? 2 : 1;
  const double crossing = static_cast<double>(group.nodes - 1);
  const double inside = static_cast<double>(n - 1) - crossing;
  double rate = group.ranks_per_node > 1 ? Rate(cluster.intra_node) : Rate(cluster.inter_node);
  if (group.nodes > 1) rate = std::min(rate, Rate(cluster.inter_node) * static_cast<double>(group.ranks_per_node));
  return cluster.device.launch_seconds.value +
         rounds *
             (inside * cluster.intra_node.latency_seconds.value + crossing * cluster.inter_node.latency_seconds.value) +
         WireBytes(kind, n, bytes) / rate;
}

// All-to-all: each rank sends a part to each other one; the parts for other nodes go through its own adapter while
// those for its own node go over the inner links.
double AllToAllSeconds(const Cluster& cluster, int64_t n, GroupShape group, double bytes) {
  const double part = bytes / static_cast<double>(n) / static_cast<double>(n);
  const double inside = static_cast<double>(std::min(n, group.ranks_per_node) - 1);
  const double crossing = static_cast<double>(n - 1) - inside;
  const double latency = inside * cluster.intra_node.latency_seconds.value +
                         static_cast<double>(group.nodes - 1) * cluster.inter_node.latency_seconds.value;
  return cluster.device.launch_seconds.value + latency +
         std::max(part * inside / Rate(cluster.intra_node), part * crossing / Rate(cluster.inter_node));
}

// Slice, fill and pad: what the busiest rank reads and writes.
double LocalBytesTouched(CollectiveKind kind, int64_t n, double bytes) {
  const double part = bytes / static_cast<double>(n);
  if (kind == CollectiveKind::kSlice) return 2 * part;  // read and write the slice
  if (kind == CollectiveKind::kPad) return part + bytes;
  return bytes;  // kFill: rank 0 keeps what it has, the others write neutral elements
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

double WireBytes(CollectiveKind kind, int64_t ranks, double bytes) {
  const double n = static_cast<double>(ranks);
  switch (kind) {
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
      return bytes * (n - 1) / n;
    case CollectiveKind::kAllReduce:
      return 2 * bytes * (n - 1) / n;
    case CollectiveKind::kAllToAll:
      return bytes * (n - 1) / (n * n);
    case CollectiveKind::kSendRecv:
      return bytes;
    case CollectiveKind::kSlice:
    case CollectiveKind::kFill:
    case CollectiveKind::kPad:
      return 0;
  }
  return 0;
}

double CollectiveTime(const Cluster& cluster, CollectiveKind kind, int64_t n, GroupShape group, double bytes,
                      double run_bytes) {
  if (n <= 1 && kind != CollectiveKind::kSendRecv) return 0;
  if (const auto seconds = MeasuredSeconds(SamplesOf(cluster, kind, group), bytes, run_bytes)) return *seconds;
  switch (kind) {
    case CollectiveKind::kAllGather:
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduceScatter:
      return RingSeconds(cluster, kind, n, group, bytes);
    case CollectiveKind::kAllToAll:
      return AllToAllSeconds(cluster, n, group, bytes);
    case CollectiveKind::kSendRecv: {
      const LinkSpec& link = group.nodes > 1 ? cluster.inter_node : cluster.intra_node;
      return cluster.device.launch_seconds.value + link.latency_seconds.value + bytes / Rate(link);
    }
    case CollectiveKind::kSlice:
    case CollectiveKind::kFill:
    case CollectiveKind::kPad:
      break;
  }
  return ComputeSeconds(cluster.device, {0, LocalBytesTouched(kind, n, bytes), DType::kF32});
}

CollectivePrice CollectiveSeconds(const Cluster& cluster, CollectiveKind kind, int64_t n, GroupShape group,
                                  double bytes, double run_bytes) {
  const double seconds = CollectiveTime(cluster, kind, n, group, bytes, run_bytes);
  if (n <= 1 && kind != CollectiveKind::kSendRecv) return {seconds, "one rank: nothing to do"};
  const std::span<const CollectiveSample> samples = SamplesOf(cluster, kind, group);
  if (MeasuredSeconds(samples, bytes, run_bytes)) {
    return {seconds, StrCat("curve of ", cluster.name, ", ", CollectiveKindName(kind), " on ", ShapeName(group), ": ",
                            samples.front().source)};
  }
  if (kind == CollectiveKind::kSlice || kind == CollectiveKind::kFill || kind == CollectiveKind::kPad) {
    return {seconds, "local copy at memory bandwidth"};
  }
  return {seconds, StrCat("latency and bandwidth of ", LinkNames(cluster, group), ", ", ShapeName(group))};
}

}  // namespace sbp
