#include "onnx/annotate.h"

#include <algorithm>
#include <optional>

#include "onnx/onnx_ir.pb.h"
#include "onnx/wire.h"

namespace sbp {
namespace {

using onnx::AppendBytesField;
using onnx::WireField;
using onnx::WireReader;

// Field numbers of the schema (onnx_ir.proto).
constexpr uint32_t kIrVersion = 1, kGraph = 7, kConfiguration = 26;  // of Model
constexpr uint32_t kNode = 1;                                        // of Graph
constexpr uint32_t kMetadata = 9, kDeviceConfigurations = 10;        // of Node
constexpr uint64_t kFirstIrVersion = 11;                             // with these fields

Status NotAModel() { return BadInput("not an ONNX model, or cut off"); }

std::string ConfigurationBytes(const DeviceConfiguration& configuration) {
  sbp_onnx::DeviceConfiguration message;
  message.set_name(configuration.name);
  message.set_num_devices(static_cast<int32_t>(configuration.num_devices));
  for (const std::string& device : configuration.devices) message.add_device(device);
  return message.SerializeAsString();
}

std::string AnnotationBytes(const std::string& configuration, const std::vector<ShardingSpec>& specs) {
  sbp_onnx::NodeDeviceConfiguration message;
  message.set_configuration_id(configuration);
  for (const ShardingSpec& spec : specs) {
    sbp_onnx::ShardingSpec& written = *message.add_sharding_spec();
    written.set_tensor_name(spec.tensor);
    for (const int64_t device : spec.devices) written.add_device(device);
    for (const auto& [key, devices] : spec.groups) {
      sbp_onnx::IntListEntry& group = *written.add_index_to_device_group_map();
      group.set_key(key);
      for (const int64_t device : devices) group.add_value(device);
    }
    for (const ShardedDim& dim : spec.dims) {
      sbp_onnx::ShardedDim& cut = *written.add_sharded_dim();
      cut.set_axis(dim.axis);
      for (const SimpleSharding& part : dim.parts) {
        sbp_onnx::SimpleShardedDim& sharding = *cut.add_simple_sharding();
        if (part.size) sharding.set_dim_value(*part.size);
        sharding.set_num_shards(part.num_shards);
      }
    }
  }
  return message.SerializeAsString();
}

bool IsOurMetadata(std::string_view entry) {
  sbp_onnx::Entry message;
  return message.ParseFromArray(entry.data(), static_cast<int>(entry.size())) &&
         message.key().starts_with(kMetadataPrefix);
}

Status AppendNode(std::string_view bytes, const std::string& configuration, const NodeAddition* addition,
                  std::string& out) {
  std::string node;
  WireReader reader(bytes);
  while (!reader.done()) {
    const std::optional<WireField> field = reader.Next();
    if (!field) return NotAModel();
    if (field->number == kDeviceConfigurations) continue;
    if (field->number == kMetadata && IsOurMetadata(field->payload)) continue;
    node.append(bytes.substr(field->begin, field->end - field->begin));
  }
  if (addition != nullptr) {
    for (const auto& [key, value] : addition->metadata) {
      sbp_onnx::Entry entry;
      entry.set_key(key);
      entry.set_value(value);
      AppendBytesField(kMetadata, entry.SerializeAsString(), node);
    }
    AppendBytesField(kDeviceConfigurations, AnnotationBytes(configuration, addition->specs), node);
  }
  AppendBytesField(kNode, node, out);
  return OkStatus();
}

Status AppendGraph(std::string_view bytes, const std::string& configuration,
                   const std::map<int64_t, NodeAddition>& additions, std::string& out) {
  std::string graph;
  WireReader reader(bytes);
  int64_t number = 0;
  while (!reader.done()) {
    const std::optional<WireField> field = reader.Next();
    if (!field) return NotAModel();
    if (field->number != kNode) {
      graph.append(bytes.substr(field->begin, field->end - field->begin));
      continue;
    }
    const auto addition = additions.find(number++);
    SBP_RETURN_IF_ERROR(
        AppendNode(field->payload, configuration, addition == additions.end() ? nullptr : &addition->second, graph));
  }
  AppendBytesField(kGraph, graph, out);
  return OkStatus();
}

}  // namespace

Result<std::string> Annotate(std::string_view model, const DeviceConfiguration& configuration,
                             const std::map<int64_t, NodeAddition>& additions) {
  std::string out;
  uint64_t ir_version = kFirstIrVersion;
  bool has_graph = false;
  WireReader reader(model);
  while (!reader.done()) {
    const std::optional<WireField> field = reader.Next();
    if (!field) return NotAModel();
    if (field->number == kConfiguration) continue;
    if (field->number == kIrVersion) {
      ir_version = std::max(field->varint, kFirstIrVersion);
    } else if (field->number == kGraph) {
      if (std::exchange(has_graph, true)) return BadInput("the model has its graph in several parts");
      SBP_RETURN_IF_ERROR(AppendGraph(field->payload, configuration.name, additions, out));
    } else {
      out.append(model.substr(field->begin, field->end - field->begin));
    }
  }
  onnx::AppendVarintField(kIrVersion, ir_version, out);
  AppendBytesField(kConfiguration, ConfigurationBytes(configuration), out);
  return out;
}

}  // namespace sbp
