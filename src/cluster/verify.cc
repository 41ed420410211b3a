// What must hold of a cluster, whoever wrote it.
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "cluster/cluster.h"
#include "cluster/collective_kind.h"

namespace sbp {
namespace {

constexpr int64_t kMaxDevices = int64_t{1} << 31;

Status CheckPositive(std::string_view name, const Constant& constant) {
  if (std::isfinite(constant.value) && constant.value > 0) return OkStatus();
  return BadInput(StrCat(name, " is ", FormatDouble(constant.value), ", expected a number above 0"));
}

Status CheckNotNegative(std::string_view name, double value) {
  if (std::isfinite(value) && value >= 0) return OkStatus();
  return BadInput(StrCat(name, " is ", FormatDouble(value), ", expected a number of at least 0"));
}

Status CheckEfficiency(std::string_view name, const Constant& constant) {
  if (constant.value > 0 && constant.value <= 1) return OkStatus();
  return BadInput(StrCat(name, " is ", FormatDouble(constant.value), ", expected a number above 0 and up to 1"));
}

Status CheckLink(const LinkSpec& link) {
  SBP_RETURN_IF_ERROR(CheckPositive("bandwidth", link.bandwidth));
  SBP_RETURN_IF_ERROR(CheckNotNegative("latency_seconds", link.latency_seconds.value));
  return CheckEfficiency("efficiency", link.efficiency);
}

Status CheckProtocols(const std::vector<CollectiveProtocol>& protocols) {
  for (size_t i = 0; i < protocols.size(); ++i) {
    const CollectiveProtocol& protocol = protocols[i];
    const std::string where = StrCat("protocols[", i, "] (", protocol.name, "): ");
    SBP_RETURN_IF_ERROR(CheckNotNegative(where + "base_seconds", protocol.base_seconds.value));
    SBP_RETURN_IF_ERROR(CheckNotNegative(where + "intra_step_seconds", protocol.intra_step_seconds.value));
    SBP_RETURN_IF_ERROR(CheckNotNegative(where + "inter_step_seconds", protocol.inter_step_seconds.value));
    SBP_RETURN_IF_ERROR(CheckEfficiency(where + "rate", protocol.rate));
  }
  return OkStatus();
}

auto KeyOf(const OpSample& sample) { return std::tie(sample.op, sample.dtype, sample.flops, sample.bytes); }

Status CheckOpSamples(const std::vector<OpSample>& samples) {
  for (size_t i = 0; i < samples.size(); ++i) {
    const std::string where = StrCat("op_samples[", i, "] (", samples[i].op, ")");
    if (samples[i].op.empty() || samples[i].dtype == DType::kUndefined) {
      return BadInput(where + ": expected an op type and an element type");
    }
    SBP_RETURN_IF_ERROR(CheckNotNegative(where + ": flops", samples[i].flops));
    SBP_RETURN_IF_ERROR(CheckNotNegative(where + ": bytes", samples[i].bytes));
    SBP_RETURN_IF_ERROR(CheckNotNegative(where + ": seconds", samples[i].seconds));
    SBP_RETURN_IF_ERROR(CheckNotNegative(where + ": workspace_bytes", samples[i].workspace_bytes));
    if (i > 0 && !(KeyOf(samples[i - 1]) < KeyOf(samples[i]))) {
      return BadInput(where + ": samples must ascend by op, dtype, flops and bytes, each once");
    }
  }
  return OkStatus();
}

Status CheckContraction(const ContractionSpec& spec) {
  if (spec.ceilings.empty()) return OkStatus();
  for (const auto& [dtype, ceiling] : spec.ceilings) {
    if (dtype == DType::kUndefined) return BadInput("contraction: ceiling of an undefined element type");
    SBP_RETURN_IF_ERROR(CheckEfficiency(StrCat("contraction: ceiling of ", DTypeName(dtype)), ceiling));
  }
  SBP_RETURN_IF_ERROR(CheckNotNegative("contraction: depth", spec.depth.value));
  SBP_RETURN_IF_ERROR(CheckEfficiency("contraction: grouped", spec.grouped));
  if (spec.f32_convolutions) {
    SBP_RETURN_IF_ERROR(CheckPositive("contraction: f32_convolutions", *spec.f32_convolutions));
  }
  SBP_RETURN_IF_ERROR(CheckPositive("contraction: units", spec.units));
  return CheckPositive("contraction: tile", spec.tile);
}

Status CheckAttention(const std::vector<AttentionSpeed>& rows) {
  const auto key = [](const AttentionSpeed& row) { return std::tuple(row.backward, row.mask, row.head); };
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string where = StrCat("attention, row ", i);
    if (rows[i].head < 1) return BadInput(StrCat(where, ": head is ", rows[i].head, ", expected at least 1"));
    SBP_RETURN_IF_ERROR(CheckPositive(StrCat(where, ": value"), rows[i].speed));
    if (i > 0 && !(key(rows[i - 1]) < key(rows[i])))
      return BadInput(where + ": rows must ascend by pass (forward, backward), mask and head, each once");
  }
  return OkStatus();
}

Status CheckDevice(const DeviceSpec& device) {
  SBP_RETURN_IF_ERROR(CheckPositive("memory_bytes", device.memory_bytes));
  SBP_RETURN_IF_ERROR(CheckPositive("memory_bandwidth", device.memory_bandwidth));
  SBP_RETURN_IF_ERROR(CheckEfficiency("compute_efficiency", device.compute_efficiency));
  SBP_RETURN_IF_ERROR(CheckEfficiency("memory_efficiency", device.memory_efficiency));
  SBP_RETURN_IF_ERROR(CheckNotNegative("launch_seconds", device.launch_seconds.value));
  if (!(device.overlap.value >= 0 && device.overlap.value <= 1)) {
    return BadInput(StrCat("overlap is ", FormatDouble(device.overlap.value), ", expected a number from 0 to 1"));
  }
  if (device.queued_launch_seconds) {
    SBP_RETURN_IF_ERROR(CheckNotNegative("queued_launch_seconds", device.queued_launch_seconds->value));
    if (device.queued_launch_seconds->value > device.launch_seconds.value) {
      return BadInput(StrCat("queued_launch_seconds is ", FormatDouble(device.queued_launch_seconds->value),
                             ", expected at most launch_seconds, ", FormatDouble(device.launch_seconds.value)));
    }
  }
  SBP_RETURN_IF_ERROR(CheckContraction(device.contraction));
  SBP_RETURN_IF_ERROR(CheckAttention(device.attention));
  SBP_RETURN_IF_ERROR(CheckOpSamples(device.op_samples));
  if (device.flops.empty()) return BadInput("flops is empty, expected the peak of at least one element type");
  for (const auto& [dtype, flops] : device.flops) {
    if (dtype == DType::kUndefined) return BadInput("flops of an undefined element type");
    SBP_RETURN_IF_ERROR(CheckPositive(StrCat("flops of ", DTypeName(dtype)), flops));
  }
  return OkStatus();
}

auto KeyOf(const CollectiveSample& sample) {
  return std::tuple(sample.kind, sample.nodes, sample.ranks_per_node, sample.alone, sample.run_bytes, sample.bytes);
}

Status CheckSamples(const std::vector<CollectiveSample>& samples) {
  for (size_t i = 0; i < samples.size(); ++i) {
    const std::string where = StrCat("sample ", i, " (", CollectiveKindName(samples[i].kind), ")");
    if (samples[i].nodes < 1 || samples[i].ranks_per_node < 1) {
      return BadInput(where + ": nodes and ranks_per_node must be at least 1");
    }
    SBP_RETURN_IF_ERROR(CheckNotNegative(where + ": bytes", samples[i].bytes));
    SBP_RETURN_IF_ERROR(CheckNotNegative(where + ": seconds", samples[i].seconds));
    SBP_RETURN_IF_ERROR(CheckNotNegative(where + ": run_bytes", samples[i].run_bytes));
    if (i > 0 && !(KeyOf(samples[i - 1]) < KeyOf(samples[i]))) {
      return BadInput(where +
                      ": samples must ascend by kind, nodes, ranks_per_node, alone, run_bytes and bytes, each once");
    }
  }
  return OkStatus();
}

Status CheckAll(const Cluster& cluster) {
  if (cluster.num_nodes < 1 || cluster.devices_per_node < 1) {
    return BadInput(StrCat("num_nodes is ", cluster.num_nodes, " and devices_per_node is ", cluster.devices_per_node,
                           ", expected at least 1"));
  }
  const auto devices = CheckedMul(cluster.num_nodes, cluster.devices_per_node);
  if (!devices || *devices > kMaxDevices) return BadInput("more than 2^31 devices");
  const Status device = CheckDevice(cluster.device);
  if (!device.ok()) return device.WithContext("device");
  const Status intra = CheckLink(cluster.intra_node);
  if (!intra.ok()) return intra.WithContext("intra_node");
  const Status inter = CheckLink(cluster.inter_node);
  if (!inter.ok()) return inter.WithContext("inter_node");
  SBP_RETURN_IF_ERROR(CheckProtocols(cluster.protocols));
  return CheckSamples(cluster.samples);
}

}  // namespace

Status Verify(const Cluster& cluster, std::string_view where) {
  Status status = CheckAll(cluster);
  if (!cluster.name.empty()) status = status.WithContext("cluster " + Quote(cluster.name));
  return where.empty() ? status : status.WithContext(where);
}

}  // namespace sbp
