#include "calibrate/fit.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "cluster/collective_kind.h"
#include "cost/cost.h"
#include "runtime/actors/step_times.h"

namespace sbp {
namespace {

constexpr double kSmallBytes = 16e3, kLargeBytes = 1e6;

bool IsProduct(const OpSample& sample) { return sample.op == "MatMul" || sample.op == "Gemm" || sample.op == "Conv"; }

double MedianOf(const std::vector<double>& values) { return Summarise(values).median; }

// Reads and writes every byte that it is said to once, and computes next to nothing.
bool IsStreaming(const OpSample& sample) {
  return sample.op == "Identity" || sample.op == "Add" || sample.op == "Mul" || sample.op == "Sub";
}

double LaunchSeconds(const std::vector<OpSample>& samples) {
  std::vector<double> seconds;
  double least = 1e-6;
  for (const OpSample& sample : samples) {
    if (IsStreaming(sample) && sample.bytes < kSmallBytes) seconds.push_back(sample.seconds);
    least = std::min(least, sample.seconds);
  }
  return seconds.empty() ? least : MedianOf(seconds);
}

// The best and, as its part, the usual rate.
struct Rate {
  double best = 0, usual = 1;
};
Rate RateOf(const std::vector<double>& rates) {
  if (rates.empty()) return {};
  const double best = *std::max_element(rates.begin(), rates.end());
  return {best, std::min(1.0, MedianOf(rates) / best)};
}

Rate MemoryRate(const std::vector<OpSample>& samples, double from_bytes) {
  std::vector<double> rates;
  for (const OpSample& sample : samples) {
    if (IsStreaming(sample) && sample.bytes >= from_bytes && sample.seconds > 0) {
      rates.push_back(sample.bytes / sample.seconds);
    }
  }
  return RateOf(rates);
}

// Products by element type, each with its flops and rate.
std::map<DType, std::vector<std::pair<double, double>>> ProductRates(const std::vector<OpSample>& samples) {
  std::map<DType, std::vector<std::pair<double, double>>> rates;
  for (const OpSample& sample : samples) {
    if (!IsProduct(sample) || sample.seconds <= 0 || sample.flops <= 0) continue;
    rates[sample.dtype].emplace_back(sample.flops, sample.flops / sample.seconds);
  }
  return rates;
}

// Least squares of (a + b x + c y - t) / t over b, c >= 0, by trying the corners where one is not positive.
struct Line {
  double latency = 0, seconds_per_byte = 0;
};
struct LinkPoint {
  double steps, bytes, seconds;
};
Line FitLine(const std::vector<LinkPoint>& points, double launch) {
  double ss = 0, sb = 0, bb = 0, st = 0, bt = 0;
  for (const LinkPoint& p : points) {
    const double w = 1 / (p.seconds * p.seconds), t = std::max(0.0, p.seconds - launch);
    ss += w * p.steps * p.steps;
    sb += w * p.steps * p.bytes;
    bb += w * p.bytes * p.bytes;
    st += w * p.steps * t;
    bt += w * p.bytes * t;
  }
  const double determinant = ss * bb - sb * sb;
  Line line;
  if (determinant > 1e-9 * ss * bb) line = {(st * bb - bt * sb) / determinant, (bt * ss - st * sb) / determinant};
  if (line.seconds_per_byte <= 0) line = {0, bb > 0 ? bt / bb : 0};
  if (line.latency < 0) line = {0, bt / bb};
  return line;
}

Residual ResidualOf(std::string what, const std::vector<double>& ratios) {
  Residual residual{std::move(what), ratios.size()};
  std::vector<double> errors;
  for (const double ratio : ratios) errors.push_back(std::abs(ratio - 1));
  residual.median = MedianOf(errors);
  if (!errors.empty()) residual.worst = *std::max_element(errors.begin(), errors.end());
  return residual;
}

Work WorkOfSample(const OpSample& sample) { return {sample.flops, sample.bytes, sample.dtype, sample.op}; }

void AddOpResiduals(const Cluster& cluster, std::vector<Residual>& residuals) {
  DeviceSpec roofline = cluster.device;
  roofline.op_samples.clear();
  std::map<std::string, std::vector<double>> by_class;
  std::vector<double> left_out;
  for (size_t i = 0; i < cluster.device.op_samples.size(); ++i) {
    const OpSample& sample = cluster.device.op_samples[i];
    const std::string name = IsProduct(sample) ? StrCat("products in ", DTypeName(sample.dtype)) : "other ops";
    by_class[name].push_back(ComputeSeconds(roofline, WorkOfSample(sample)) / sample.seconds);
    DeviceSpec others = roofline;
    for (const OpSample& other : cluster.device.op_samples) {
      if (&other != &sample && other.op == sample.op && other.dtype == sample.dtype) others.op_samples.push_back(other);
    }
    if (!others.op_samples.empty()) {
      left_out.push_back(ComputeSeconds(others, WorkOfSample(sample)) / sample.seconds);
    }
  }
  for (const auto& [name, ratios] : by_class) residuals.push_back(ResidualOf("roofline alone, " + name, ratios));
  residuals.push_back(ResidualOf("samples, each predicted from the others of its op", left_out));
}

void FitLinks(Cluster& cluster, std::vector<Residual>& residuals, const std::string& source) {
  std::vector<LinkPoint> within, across;  // one node; nodes
  std::vector<double> inside;             // steps of `across` that stay on a node
  for (const CollectiveSample& sample : cluster.samples) {
    if (sample.kind != CollectiveKind::kAllGather && sample.kind != CollectiveKind::kReduceScatter) continue;
    if (sample.run_bytes > 0) continue;
    const int64_t n = sample.nodes * sample.ranks_per_node;
    const LinkPoint point{static_cast<double>(n - 1), WireBytes(sample.kind, n, sample.bytes), sample.seconds};
    if (sample.nodes == 1) {
      within.push_back(point);
    } else {  // of its steps so many cross nodes, over all the adapters of one at once (CollectiveTime)
      const auto ranks = static_cast<double>(sample.ranks_per_node);
      across.push_back({static_cast<double>(sample.nodes - 1), point.bytes / ranks, point.seconds});
      inside.push_back(static_cast<double>(n - sample.nodes));
    }
  }
  if (within.empty() && across.empty()) return;
  // A link that nothing was sent over is taken to be like the other one.
  const auto fit = [&](LinkSpec& link, const std::vector<LinkPoint>& own, const std::vector<LinkPoint>& other) {
    const Line line = FitLine(own.empty() ? other : own, cluster.device.launch_seconds.value);
    link.latency_seconds = {line.latency, source};
    if (line.seconds_per_byte > 0) link.bandwidth = {1 / line.seconds_per_byte, source};
    link.efficiency = {1, source};
  };
  cluster.protocols.clear();  // the lines are of messages of all sizes
  fit(cluster.intra_node, within, across);
  for (size_t i = 0; i < across.size() && !within.empty(); ++i) {
    const double there = inside[i] * cluster.intra_node.latency_seconds.value;
    across[i].seconds = std::max(across[i].seconds - there, 0.1 * across[i].seconds);
  }
  fit(cluster.inter_node, across, within);
  std::map<std::string, std::vector<double>> by_kind;
  Cluster links = cluster;
  links.samples.clear();
  for (const CollectiveSample& sample : cluster.samples) {
    const GroupShape group{sample.nodes, sample.ranks_per_node};
    const int64_t n = group.nodes * group.ranks_per_node;
    by_kind[std::string(CollectiveKindName(sample.kind))].push_back(
        CollectiveTime(links, sample.kind, n, group, sample.bytes) / sample.seconds);
  }
  for (const auto& [kind, ratios] : by_kind) residuals.push_back(ResidualOf("links alone, " + kind, ratios));
}

}  // namespace

Result<Fit> FitCluster(Cluster cluster, std::vector<OpSample> op_samples, std::vector<CollectiveSample> collectives,
                       const std::string& source) {
  cluster.device.op_samples = std::move(op_samples);
  cluster.samples = std::move(collectives);
  const std::vector<OpSample>& ops = cluster.device.op_samples;
  const double launch = LaunchSeconds(ops);
  cluster.device.launch_seconds = {launch, source};
  Rate memory = MemoryRate(ops, kLargeBytes);
  if (memory.best <= 0) memory = MemoryRate(ops, 0);
  if (memory.best <= 0) return RunFailed("no op was measured that tells the memory's bandwidth");
  cluster.device.memory_bandwidth = {memory.best, source};
  cluster.device.memory_efficiency = {memory.usual, source};
  cluster.device.flops.clear();
  std::vector<double> parts;
  for (const auto& [dtype, rates] : ProductRates(ops)) {
    double best = 0, most = 0;
    for (const auto& [flops, rate] : rates) {
      best = std::max(best, rate);
      most = std::max(most, flops);
    }
    cluster.device.flops[dtype] = {best, source};
    for (const auto& [flops, rate] : rates) {
      if (flops >= most / 10) parts.push_back(rate / best);
    }
  }
  if (parts.empty()) return RunFailed("no product was measured that tells the flops");
  cluster.device.compute_efficiency = {std::min(1.0, MedianOf(parts)), source};
  Fit fit;
  AddOpResiduals(cluster, fit.residuals);
  FitLinks(cluster, fit.residuals, source);
  fit.cluster = std::move(cluster);
  return fit;
}

}  // namespace sbp
