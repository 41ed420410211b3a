#include "io/cluster_proto.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>

#include "base/dtype.h"
#include "base/number_text.h"
#include "base/text.h"
#include "cluster/collective_kind.h"
#include "io/utf8.h"

namespace sbp {
namespace {

namespace v1 = sbp_plan::v1;

void ConstantToMessage(const Constant& constant, v1::Constant& message) {
  message.set_value(constant.value);
  message.set_source(ToUtf8(constant.source));
}

void LinkToMessage(const LinkSpec& link, v1::Link& message) {
  message.set_name(ToUtf8(link.name));
  ConstantToMessage(link.bandwidth, *message.mutable_bandwidth());
  ConstantToMessage(link.latency_seconds, *message.mutable_latency_seconds());
  ConstantToMessage(link.efficiency, *message.mutable_efficiency());
}

template <typename Rows>
void FlopsToMessages(const std::map<DType, Constant>& by_type, Rows& rows) {
  for (const auto& [dtype, constant] : by_type) {
    v1::Flops& row = *rows.Add();
    row.set_key(std::string(DTypeName(dtype)));
    row.set_value(constant.value);
    row.set_source(ToUtf8(constant.source));
  }
}

void ContractionToMessage(const ContractionSpec& spec, v1::Contraction& message) {
  FlopsToMessages(spec.ceilings, *message.mutable_ceilings());
  ConstantToMessage(spec.depth, *message.mutable_depth());
  ConstantToMessage(spec.units, *message.mutable_units());
  ConstantToMessage(spec.tile, *message.mutable_tile());
  if (spec.grouped.value != 1) ConstantToMessage(spec.grouped, *message.mutable_grouped());
  if (spec.f32_convolutions) ConstantToMessage(*spec.f32_convolutions, *message.mutable_f32_convolutions());
}

constexpr std::string_view kForward = "forward", kBackward = "backward";

void AttentionToMessages(const DeviceSpec& device, v1::Device& message) {
  for (const AttentionSpeed& row : device.attention) {
    v1::AttentionSpeed& out = *message.add_attention();
    out.set_head(row.head);
    out.set_pass(std::string(row.backward ? kBackward : kForward));
    out.set_mask(row.mask);
    out.set_value(row.speed.value);
    out.set_source(ToUtf8(row.speed.source));
  }
}

void DeviceToMessage(const DeviceSpec& device, v1::Device& message) {
  message.set_name(ToUtf8(device.name));
  ConstantToMessage(device.memory_bytes, *message.mutable_memory_bytes());
  ConstantToMessage(device.memory_bandwidth, *message.mutable_memory_bandwidth());
  ConstantToMessage(device.memory_efficiency, *message.mutable_memory_efficiency());
  FlopsToMessages(device.flops, *message.mutable_flops());
  ConstantToMessage(device.compute_efficiency, *message.mutable_compute_efficiency());
  ConstantToMessage(device.launch_seconds, *message.mutable_launch_seconds());
  if (device.overlap.value != 1) ConstantToMessage(device.overlap, *message.mutable_overlap());
  if (device.queued_launch_seconds) {
    ConstantToMessage(*device.queued_launch_seconds, *message.mutable_queued_launch_seconds());
  }
  message.set_epilogue(device.epilogue);
  if (!device.contraction.ceilings.empty()) ContractionToMessage(device.contraction, *message.mutable_contraction());
  AttentionToMessages(device, message);
  for (const OpSample& sample : device.op_samples) {
    v1::OpSample& out = *message.add_op_samples();
    out.set_op(ToUtf8(sample.op));
    out.set_dtype(std::string(DTypeName(sample.dtype)));
    out.set_flops(sample.flops);
    out.set_bytes(sample.bytes);
    out.set_seconds(sample.seconds);
    out.set_source(ToUtf8(sample.source));
    out.set_workspace_bytes(sample.workspace_bytes);
  }
}

// A constant that must be there: {message holds it, the message, where it goes, its name}.
struct ConstantRow {
  std::string_view name;
  bool present;
  const v1::Constant& message;
  Constant& constant;
};

Status ReadConstants(std::span<const ConstantRow> rows) {
  for (const ConstantRow& row : rows) {
    if (!row.present) return BadInput(StrCat(Quote(row.name), " is missing"));
    if (!std::isfinite(row.message.value())) {
      return BadInput(
          StrCat(Quote(row.name), ": expected a finite number, found ", FormatGeneral(row.message.value())));
    }
    row.constant = {row.message.value(), row.message.source()};
  }
  return OkStatus();
}

Status LinkFromMessage(const v1::Link& message, LinkSpec& link) {
  link.name = message.name();
  const ConstantRow rows[] = {
      {"bandwidth", message.has_bandwidth(), message.bandwidth(), link.bandwidth},
      {"latency_seconds", message.has_latency_seconds(), message.latency_seconds(), link.latency_seconds},
      {"efficiency", message.has_efficiency(), message.efficiency(), link.efficiency},
  };
  return ReadConstants(rows);
}

Result<OpSample> OpSampleFromMessage(const v1::OpSample& message) {
  const std::optional<DType> dtype = ParseDType(message.dtype());
  if (!dtype) {
    return BadInput(
        StrCat("dtype: ", Quote(message.dtype()), " is no element type", DidYouMean(message.dtype(), DTypeNames())));
  }
  return OpSample{message.op(),      *dtype,           message.flops(),          message.bytes(),
                  message.seconds(), message.source(), message.workspace_bytes()};
}

Status ReadOpSamples(const v1::Device& message, DeviceSpec& device) {
  for (int i = 0; i < message.op_samples_size(); ++i) {
    Result<OpSample> sample = OpSampleFromMessage(message.op_samples(i));
    if (!sample.ok()) return sample.status().WithContext(StrCat("op_samples[", i, "]"));
    device.op_samples.push_back(*std::move(sample));
  }
  const auto key = [](const OpSample& s) { return std::tie(s.op, s.dtype, s.flops, s.bytes); };
  std::stable_sort(device.op_samples.begin(), device.op_samples.end(),
                   [&](const OpSample& a, const OpSample& b) { return key(a) < key(b); });
  return OkStatus();
}

template <typename Rows>
Status FlopsFromMessages(std::string_view name, const Rows& rows, std::map<DType, Constant>& by_type) {
  for (const v1::Flops& row : rows) {
    const std::optional<DType> dtype = ParseDType(row.key());
    if (!dtype) {
      return BadInput(StrCat(name, ": ", Quote(row.key()), " is no element type", DidYouMean(row.key(), DTypeNames())));
    }
    if (!by_type.emplace(*dtype, Constant{row.value(), row.source()}).second) {
      return BadInput(StrCat(name, ": ", DTypeName(*dtype), " is given twice"));
    }
  }
  return OkStatus();
}

Status ContractionFromMessage(const v1::Contraction& message, ContractionSpec& spec) {
  const ConstantRow rows[] = {
      {"depth", message.has_depth(), message.depth(), spec.depth},
      {"units", message.has_units(), message.units(), spec.units},
      {"tile", message.has_tile(), message.tile(), spec.tile},
  };
  SBP_RETURN_IF_ERROR(ReadConstants(rows));
  if (message.has_grouped()) {
    const ConstantRow grouped[] = {{"grouped", true, message.grouped(), spec.grouped}};
    SBP_RETURN_IF_ERROR(ReadConstants(grouped));
  }
  if (message.has_f32_convolutions()) {
    const ConstantRow rounded[] = {
        {"f32_convolutions", true, message.f32_convolutions(), spec.f32_convolutions.emplace()}};
    SBP_RETURN_IF_ERROR(ReadConstants(rounded));
  }
  if (message.ceilings().empty()) return BadInput("\"ceilings\" is missing (as in {\"bf16\": 0.8})");
  return FlopsFromMessages("ceilings", message.ceilings(), spec.ceilings);
}

Status ReadAttention(const v1::Device& message, DeviceSpec& device) {
  for (int i = 0; i < message.attention_size(); ++i) {
    const v1::AttentionSpeed& row = message.attention(i);
    if (!row.pass().empty() && row.pass() != kForward && row.pass() != kBackward) {
      return BadInput(StrCat("attention[", i, "]: pass is ", Quote(row.pass()), ", expected forward or backward"));
    }
    if (!std::isfinite(row.value())) return BadInput(StrCat("attention[", i, "]: value is no finite number"));
    device.attention.push_back({row.head(), row.pass() == kBackward, row.mask(), {row.value(), row.source()}});
  }
  std::ranges::stable_sort(device.attention, {},
                           [](const AttentionSpeed& row) { return std::tuple(row.backward, row.mask, row.head); });
  return OkStatus();
}

Status DeviceFromMessage(const v1::Device& message, DeviceSpec& device) {
  device.name = message.name();
  const ConstantRow rows[] = {
      {"memory_bytes", message.has_memory_bytes(), message.memory_bytes(), device.memory_bytes},
      {"memory_bandwidth", message.has_memory_bandwidth(), message.memory_bandwidth(), device.memory_bandwidth},
      {"memory_efficiency", message.has_memory_efficiency(), message.memory_efficiency(), device.memory_efficiency},
      {"compute_efficiency", message.has_compute_efficiency(), message.compute_efficiency(), device.compute_efficiency},
      {"launch_seconds", message.has_launch_seconds(), message.launch_seconds(), device.launch_seconds},
  };
  SBP_RETURN_IF_ERROR(ReadConstants(rows));
  if (message.has_overlap()) {
    const ConstantRow overlap[] = {{"overlap", true, message.overlap(), device.overlap}};
    SBP_RETURN_IF_ERROR(ReadConstants(overlap));
  }
  SBP_RETURN_IF_ERROR(ReadAttention(message, device));
  SBP_RETURN_IF_ERROR(ReadOpSamples(message, device));
  if (message.flops().empty()) return BadInput("\"flops\" is missing (as in {\"bf16\": 989e12})");
  if (message.has_queued_launch_seconds()) {
    const ConstantRow queued[] = {
        {"queued_launch_seconds", true, message.queued_launch_seconds(), device.queued_launch_seconds.emplace()}};
    SBP_RETURN_IF_ERROR(ReadConstants(queued));
  }
  device.epilogue = message.epilogue();
  if (message.has_contraction()) {
    SBP_RETURN_IF_ERROR(ContractionFromMessage(message.contraction(), device.contraction).WithContext("contraction"));
  }
  return FlopsFromMessages("flops", message.flops(), device.flops);
}

Result<CollectiveSample> SampleFromMessage(const v1::CollectiveSample& message) {
  CollectiveSample sample;
  const std::optional<CollectiveKind> kind = ParseCollectiveKind(message.collective());
  if (!kind) return BadInput(StrCat(Quote(message.collective()), " is no collective (as in \"all-reduce\")"));
  sample.kind = *kind;
  sample.nodes = message.nodes();
  sample.ranks_per_node = message.ranks_per_node();
  sample.bytes = message.bytes();
  sample.seconds = message.seconds();
  sample.source = message.source();
  sample.run_bytes = message.run_bytes();
  sample.alone = message.alone();
  return sample;
}

Status ReadSamples(const v1::Cluster& message, Cluster& cluster) {
  for (int i = 0; i < message.samples_size(); ++i) {
    Result<CollectiveSample> sample = SampleFromMessage(message.samples(i));
    if (!sample.ok()) return sample.status().WithContext(StrCat("samples[", i, "]"));
    cluster.samples.push_back(*std::move(sample));
  }
  const auto key = [](const CollectiveSample& s) {
    return std::tie(s.kind, s.nodes, s.ranks_per_node, s.alone, s.run_bytes, s.bytes);
  };
  std::stable_sort(cluster.samples.begin(), cluster.samples.end(),
                   [&](const CollectiveSample& a, const CollectiveSample& b) { return key(a) < key(b); });
  return OkStatus();
}

constexpr std::string_view kRing = "ring", kTree = "tree";

Result<CollectiveProtocol> ProtocolFromMessage(const v1::CollectiveProtocol& message) {
  CollectiveProtocol protocol;
  protocol.name = message.name();
  protocol.tree = message.shape() == kTree;
  if (!protocol.tree && !message.shape().empty() && message.shape() != kRing) {
    return BadInput(StrCat("shape is ", Quote(message.shape()), ", expected ", kRing, " or ", kTree));
  }
  const ConstantRow rows[] = {
      {"base_seconds", message.has_base_seconds(), message.base_seconds(), protocol.base_seconds},
      {"intra_step_seconds", message.has_intra_step_seconds(), message.intra_step_seconds(),
       protocol.intra_step_seconds},
      {"inter_step_seconds", message.has_inter_step_seconds(), message.inter_step_seconds(),
       protocol.inter_step_seconds},
      {"rate", message.has_rate(), message.rate(), protocol.rate},
  };
  SBP_RETURN_IF_ERROR(ReadConstants(rows));
  return protocol;
}

Status ReadProtocols(const v1::Cluster& message, Cluster& cluster) {
  for (int i = 0; i < message.protocols_size(); ++i) {
    Result<CollectiveProtocol> protocol = ProtocolFromMessage(message.protocols(i));
    if (!protocol.ok()) return protocol.status().WithContext(StrCat("protocols[", i, "]"));
    cluster.protocols.push_back(*std::move(protocol));
  }
  return OkStatus();
}

void ProtocolToMessage(const CollectiveProtocol& protocol, v1::CollectiveProtocol& message) {
  message.set_name(ToUtf8(protocol.name));
  message.set_shape(std::string(protocol.tree ? kTree : kRing));
  ConstantToMessage(protocol.base_seconds, *message.mutable_base_seconds());
  ConstantToMessage(protocol.intra_step_seconds, *message.mutable_intra_step_seconds());
  ConstantToMessage(protocol.inter_step_seconds, *message.mutable_inter_step_seconds());
  ConstantToMessage(protocol.rate, *message.mutable_rate());
}

Status ReadParts(const v1::Cluster& message, Cluster& cluster) {
  cluster.name = message.name();
  cluster.description = message.description();
  cluster.num_nodes = message.has_num_nodes() ? message.num_nodes() : 1;
  cluster.devices_per_node = message.has_devices_per_node() ? message.devices_per_node() : 1;
  cluster.growable = message.growable();
  if (!message.execution().empty()) {
    const std::optional<Execution> execution = ParseExecution(message.execution());
    if (!execution) {
      return BadInput(StrCat("execution is ", Quote(message.execution()), ", expected eager or fused"));
    }
    cluster.execution = *execution;
  }
  cluster.fused_scopes.assign(message.fused_scopes().begin(), message.fused_scopes().end());
  if (!cluster.fused_scopes.empty() && cluster.execution != Execution::kFused) {
    return BadInput("fused_scopes are for an execution of fused");
  }
  cluster.keeps_operands = message.keeps_operands();
  SBP_RETURN_IF_ERROR(DeviceFromMessage(message.device(), cluster.device).WithContext("device"));
  SBP_RETURN_IF_ERROR(LinkFromMessage(message.intra_node(), cluster.intra_node).WithContext("intra_node"));
  if (message.has_inter_node() || cluster.num_nodes != 1) {
    SBP_RETURN_IF_ERROR(LinkFromMessage(message.inter_node(), cluster.inter_node).WithContext("inter_node"));
  } else {
    cluster.inter_node = cluster.intra_node;
  }
  SBP_RETURN_IF_ERROR(ReadProtocols(message, cluster));
  return ReadSamples(message, cluster);
}

}  // namespace

void ClusterToMessage(const Cluster& cluster, v1::Cluster& message) {
  message.set_name(ToUtf8(cluster.name));
  message.set_description(ToUtf8(cluster.description));
  message.set_num_nodes(cluster.num_nodes);
  message.set_devices_per_node(cluster.devices_per_node);
  message.set_growable(cluster.growable);
  if (cluster.execution != Execution::kEager) message.set_execution(std::string(ExecutionName(cluster.execution)));
  for (const std::string& scope : cluster.fused_scopes) message.add_fused_scopes(ToUtf8(scope));
  message.set_keeps_operands(cluster.keeps_operands);
  DeviceToMessage(cluster.device, *message.mutable_device());
  LinkToMessage(cluster.intra_node, *message.mutable_intra_node());
  LinkToMessage(cluster.inter_node, *message.mutable_inter_node());
  for (const CollectiveProtocol& protocol : cluster.protocols) ProtocolToMessage(protocol, *message.add_protocols());
  for (const CollectiveSample& sample : cluster.samples) {
    v1::CollectiveSample& out = *message.add_samples();
    out.set_collective(std::string(CollectiveKindName(sample.kind)));
    out.set_nodes(sample.nodes);
    out.set_ranks_per_node(sample.ranks_per_node);
    out.set_bytes(sample.bytes);
    out.set_seconds(sample.seconds);
    out.set_source(ToUtf8(sample.source));
    out.set_run_bytes(sample.run_bytes);
    out.set_alone(sample.alone);
  }
}

Result<Cluster> ClusterFromMessage(const v1::Cluster& message, std::string_view where) {
  Cluster cluster;
  const Status status = ReadParts(message, cluster);
  if (!status.ok()) return where.empty() ? status : status.WithContext(where);
  SBP_RETURN_IF_ERROR(Verify(cluster, where));
  return cluster;
}

}  // namespace sbp
