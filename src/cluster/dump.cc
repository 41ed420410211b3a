// The canonical text of a cluster: one constant a line, each with its source. `cluster show` prints it.
#include <string>
#include <string_view>

#include "base/dtype.h"
#include "base/text.h"
#include "cluster/cluster.h"
#include "cluster/collective_kind.h"

namespace sbp {
namespace {

void Line(std::string_view name, const Constant& constant, std::string& out) {
  out += StrCat("  ", name, " ", FormatDouble(constant.value), "  # ", constant.source, "\n");
}

void DumpLink(std::string_view name, const LinkSpec& link, std::string& out) {
  out += StrCat(name, " ", Quote(link.name), "\n");
  Line("bandwidth", link.bandwidth, out);
  Line("latency_seconds", link.latency_seconds, out);
  Line("efficiency", link.efficiency, out);
}

}  // namespace

std::string Dump(const Cluster& cluster) {
  std::string out = StrCat("cluster ", Quote(cluster.name), " ", cluster.num_nodes, " x ", cluster.devices_per_node,
                           cluster.growable ? " growable" : "", cluster.execution == Execution::kFused ? " fused" : "",
                           cluster.device.epilogue ? " epilogue" : "", "\n");
  for (const std::string& scope : cluster.fused_scopes) out += StrCat("fused scope ", Quote(scope), "\n");
  if (cluster.keeps_operands) out += "keeps operands\n";
  if (!cluster.description.empty()) out += StrCat("  # ", cluster.description, "\n");
  out += StrCat("device ", Quote(cluster.device.name), "\n");
  Line("memory_bytes", cluster.device.memory_bytes, out);
  Line("memory_bandwidth", cluster.device.memory_bandwidth, out);
  for (const auto& [dtype, flops] : cluster.device.flops) Line(StrCat("flops.", DTypeName(dtype)), flops, out);
  Line("compute_efficiency", cluster.device.compute_efficiency, out);
  Line("memory_efficiency", cluster.device.memory_efficiency, out);
  Line("launch_seconds", cluster.device.launch_seconds, out);
  if (cluster.device.queued_launch_seconds) {
    Line("queued_launch_seconds", *cluster.device.queued_launch_seconds, out);
  }
  if (cluster.device.overlap.value != 1) Line("overlap", cluster.device.overlap, out);
  const ContractionSpec& contraction = cluster.device.contraction;
  for (const auto& [dtype, ceiling] : contraction.ceilings)
    Line(StrCat("contraction.", DTypeName(dtype)), ceiling, out);
  if (!contraction.ceilings.empty()) {
    Line("contraction.depth", contraction.depth, out);
    Line("contraction.units", contraction.units, out);
    Line("contraction.tile", contraction.tile, out);
    if (contraction.grouped.value != 1) Line("contraction.grouped", contraction.grouped, out);
    if (contraction.f32_convolutions) Line("contraction.f32_convolutions", *contraction.f32_convolutions, out);
  }
  for (const AttentionSpeed& row : cluster.device.attention) {
    Line(StrCat("attention.", row.backward ? "backward." : "forward.", row.mask ? "masked." : "", row.head), row.speed,
         out);
  }
  DumpLink("intra_node", cluster.intra_node, out);
  DumpLink("inter_node", cluster.inter_node, out);
  for (const CollectiveProtocol& protocol : cluster.protocols) {
    out += StrCat("protocol ", Quote(protocol.name), protocol.tree ? " tree" : " ring", "\n");
    Line("base_seconds", protocol.base_seconds, out);
    Line("intra_step_seconds", protocol.intra_step_seconds, out);
    Line("inter_step_seconds", protocol.inter_step_seconds, out);
    Line("rate", protocol.rate, out);
  }
  for (const CollectiveSample& sample : cluster.samples) {
    out += StrCat("sample ", CollectiveKindName(sample.kind), " ", sample.nodes, " x ", sample.ranks_per_node,
                  " bytes ", FormatDouble(sample.bytes),
                  sample.run_bytes > 0 ? StrCat(" in runs of ", FormatDouble(sample.run_bytes)) : "", " seconds ",
                  FormatDouble(sample.seconds), sample.alone ? " alone" : "", "  # ", sample.source, "\n");
  }
  for (const OpSample& sample : cluster.device.op_samples) {
    out += StrCat("sample ", sample.op, " ", DTypeName(sample.dtype), " flops ", FormatDouble(sample.flops), " bytes ",
                  FormatDouble(sample.bytes), " seconds ", FormatDouble(sample.seconds), "  # ", sample.source, "\n");
  }
  return out;
}

}  // namespace sbp
