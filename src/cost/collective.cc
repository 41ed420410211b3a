// Price of one collective: a measured curve where there is one, else latency and bandwidth of the links crossed; less
// where a protocol for small messages is faster.
#include "cost/collective.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
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

// What samples say of a call, if any does, and whether that is all there is to say: of just these bytes, or of parts
// that lie in runs, as only who measures knows.
struct Measured {
  std::optional<double> seconds;
  bool exact = false;
};

Measured MeasuredSeconds(std::span<const CollectiveSample> samples, double bytes, double run_bytes) {
  const auto alone =
      std::partition_point(samples.begin(), samples.end(), [](const CollectiveSample& s) { return !s.alone; });
  const auto key = [](const CollectiveSample& s) { return std::pair(s.run_bytes, s.bytes); };
  const std::pair wanted(run_bytes, bytes);
  const auto same = std::lower_bound(alone, samples.end(), wanted,
                                     [&](const CollectiveSample& s, const auto& w) { return key(s) < w; });
  if (same != samples.end() && key(*same) == wanted) return {same->seconds, true};
  if (alone == samples.begin()) return {};
  return {Interpolate({samples.begin(), alone}, bytes, run_bytes), run_bytes > 0};
}

std::string LinkNames(const Cluster& cluster, GroupShape group) {
  if (group.nodes == 1) return cluster.intra_node.name;
  if (group.ranks_per_node == 1) return cluster.inter_node.name;
  return cluster.intra_node.name + " and " + cluster.inter_node.name;
}

std::string ShapeName(GroupShape group) {
  return StrCat(group.nodes, group.nodes == 1 ? " node x " : " nodes x ", group.ranks_per_node);
}

// Bytes per second that each rank of a group sends at once.
double GroupRate(const CollectiveCall& call) {
  const Cluster& cluster = call.cluster;
  const GroupShape group = call.group;
  double rate = group.ranks_per_node > 1 ? LinkRate(cluster.intra_node) : LinkRate(cluster.inter_node);
  if (group.nodes > 1) {
    rate = std::min(rate, LinkRate(cluster.inter_node) * static_cast<double>(group.ranks_per_node));
  }
  return rate;
}

double RingSteps(const CollectiveCall& call, int rounds, double intra_step, double inter_step) {
  const auto crossing = static_cast<double>(call.group.nodes - 1);
  const double inside = static_cast<double>(call.ranks - 1) - crossing;
  return rounds * (inside * intra_step + crossing * inter_step);
}

// Up and down a tree of nodes, in each of which ranks form a chain.
double TreeSteps(const CollectiveCall& call, double intra_step, double inter_step) {
  const double depth = std::ceil(std::log2(static_cast<double>(call.group.nodes)));
  return 2 * (static_cast<double>(call.group.ranks_per_node - 1) * intra_step + depth * inter_step);
}

// A price, and what sends messages so; null: the protocol that curves and links are of.
struct Fastest {
  double seconds = 0;
  const CollectiveProtocol* protocol = nullptr;
};

// `seconds`, or less where a protocol for small messages is faster, but no less than among as many ranks of one node.
// Within a node the protocols stand in for what was not measured; over nodes curves are of large messages.
Fastest WithProtocols(const CollectiveRow& row, const CollectiveCall& call, const Measured& measured, double seconds) {
  const Cluster& cluster = call.cluster;
  Fastest fastest{seconds};
  const bool is_known = measured.exact || (measured.seconds && call.group.nodes == 1);
  if (row.rounds == 0 || is_known || cluster.protocols.empty()) return fastest;
  const auto n = static_cast<double>(call.ranks);
  const double rate = GroupRate(call);
  for (const CollectiveProtocol& protocol : cluster.protocols) {
    if (protocol.tree && row.rounds != 2) continue;
    const double intra = protocol.intra_step_seconds.value, inter = protocol.inter_step_seconds.value;
    const double steps = protocol.tree ? TreeSteps(call, intra, inter) : RingSteps(call, row.rounds, intra, inter);
    // Of a tree's inner nodes each sends all, up and down.
    const double wire = protocol.tree ? 2 * call.bytes : row.wire_bytes(n, call.bytes);
    const double base = std::max(cluster.device.launch_seconds.value, protocol.base_seconds.value);
    const double own = base + steps + wire / (rate * protocol.rate.value);
    if (own < fastest.seconds) fastest = {own, &protocol};
  }
  const int64_t inside = std::min(call.ranks, cluster.devices_per_node);
  if (fastest.protocol != nullptr && call.group.nodes > 1 && inside > 1) {
    const double least = CollectiveTime(cluster, row.kind, inside, {1, inside}, call.bytes);
    fastest.seconds = std::max(fastest.seconds, std::min(seconds, least));
  }
  return fastest;
}

Fastest TimeOf(const CollectiveRow& row, const CollectiveCall& call, double run_bytes) {
  const Measured measured = MeasuredSeconds(SamplesOf(call.cluster, row.kind, call.group), call.bytes, run_bytes);
  return WithProtocols(row, call, measured, measured.seconds ? *measured.seconds : row.seconds(call));
}

}  // namespace

double NothingSent(double /*ranks*/, double /*bytes*/) { return 0; }

double LinkRate(const LinkSpec& link) { return link.bandwidth.value * link.efficiency.value; }

double RingSeconds(const CollectiveCall& call, int rounds, double wire_bytes) {
  const Cluster& cluster = call.cluster;
  return cluster.device.launch_seconds.value +
         RingSteps(call, rounds, cluster.intra_node.latency_seconds.value, cluster.inter_node.latency_seconds.value) +
         wire_bytes / GroupRate(call);
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
  return TimeOf(row, {cluster, n, group, bytes}, run_bytes).seconds;
}

CollectivePrice CollectiveSeconds(const Cluster& cluster, CollectiveKind kind, int64_t n, GroupShape group,
                                  double bytes, double run_bytes) {
  const CollectiveRow& row = RowOf(kind);
  if (n <= 1 && !row.point_to_point) return {0, "one rank: nothing to do"};
  const std::span<const CollectiveSample> samples = SamplesOf(cluster, kind, group);
  const auto [seconds, protocol] = TimeOf(row, {cluster, n, group, bytes}, run_bytes);
  if (protocol != nullptr) {
    return {seconds, StrCat("small messages over ", LinkNames(cluster, group), ", ", ShapeName(group), ": ",
                            protocol->name, protocol->tree ? " in a tree" : " in a ring")};
  }
  if (MeasuredSeconds(samples, bytes, run_bytes).seconds) {
    return {seconds, StrCat("curve of ", cluster.name, ", ", row.name(), " on ", ShapeName(group), ": ",
                            samples.front().source)};
  }
  if (row.local) return {seconds, "local copy at memory bandwidth"};
  return {seconds, StrCat("latency and bandwidth of ", LinkNames(cluster, group), ", ", ShapeName(group))};
}

}  // namespace sbp
