#include "onnx/annotations.h"

#include <google/protobuf/arena.h>

#include <algorithm>

#include "base/text.h"
#include "onnx/onnx_ir.pb.h"
#include "onnx/parse_model.h"
#include "onnx/wire.h"

namespace sbp {
namespace {

ShardingSpec SpecOf(const sbp_onnx::ShardingSpec& message) {
  ShardingSpec spec;
  spec.tensor = message.tensor_name();
  spec.devices.assign(message.device().begin(), message.device().end());
  for (const sbp_onnx::IntListEntry& group : message.index_to_device_group_map()) {
    spec.groups.emplace_back(group.key(), std::vector<int64_t>(group.value().begin(), group.value().end()));
  }
  for (const sbp_onnx::ShardedDim& dim : message.sharded_dim()) {
    ShardedDim& cut = spec.dims.emplace_back();
    cut.axis = dim.axis();
    for (const sbp_onnx::SimpleShardedDim& part : dim.simple_sharding()) {
      SimpleSharding& sharding = cut.parts.emplace_back();
      if (part.dim_case() == sbp_onnx::SimpleShardedDim::kDimValue) sharding.size = part.dim_value();
      sharding.num_shards = part.num_shards();
    }
  }
  return spec;
}

NodeAnnotation BareNode(const sbp_onnx::Node& node, int64_t number) {
  NodeAnnotation bare;
  bare.name = node.name();
  bare.type = node.op_type();
  bare.number = number;
  bare.inputs.assign(node.input().begin(), node.input().end());
  bare.outputs.assign(node.output().begin(), node.output().end());
  return bare;
}

void ReadNode(const sbp_onnx::Node& node, int64_t number, ShardingAnnotations& annotations) {
  if (node.device_configurations().empty()) return;
  ++annotations.num_annotated;
  for (const sbp_onnx::NodeDeviceConfiguration& message : node.device_configurations()) {
    NodeAnnotation& annotation = annotations.nodes.emplace_back(BareNode(node, number));
    annotation.configuration = message.configuration_id();
    if (message.has_pipeline_stage()) annotation.pipeline_stage = message.pipeline_stage();
    for (const sbp_onnx::ShardingSpec& spec : message.sharding_spec()) annotation.specs.push_back(SpecOf(spec));
  }
}

// Annotations of the nodes below those of `open`, which it takes apart.
int64_t CountNested(std::vector<const sbp_onnx::Node*> open) {
  int64_t count = 0;
  const auto push = [&](const sbp_onnx::Graph& graph) {
    for (const sbp_onnx::Node& node : graph.node()) {
      count += node.device_configurations_size();
      open.push_back(&node);
    }
  };
  while (!open.empty()) {
    const sbp_onnx::Node& node = *open.back();
    open.pop_back();
    for (const sbp_onnx::Attribute& attribute : node.attribute()) {
      if (attribute.has_g()) push(attribute.g());
      for (const sbp_onnx::Graph& graph : attribute.graphs()) push(graph);
    }
  }
  return count;
}

std::vector<std::string> TensorNames(const sbp_onnx::Graph& graph) {
  std::vector<std::string> names;
  for (const sbp_onnx::ValueInfo& input : graph.input()) names.push_back(input.name());
  for (const sbp_onnx::Tensor& tensor : graph.initializer()) names.push_back(tensor.name());
  for (const sbp_onnx::SparseTensor& tensor : graph.sparse_initializer()) names.push_back(tensor.values().name());
  for (const sbp_onnx::Node& node : graph.node()) names.insert(names.end(), node.output().begin(), node.output().end());
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Status ParseWithoutPayloads(std::string_view bytes, std::string_view where, sbp_onnx::Model& model) {
  const Result<std::optional<std::string>> shorter = onnx::LeavePayloadsInFile(bytes);
  if (!shorter.ok()) return shorter.status().WithContext(where);
  return onnx::ParseModel(*shorter ? **shorter : bytes, model).WithContext(where);
}

}  // namespace

bool HasDeviceConfigurations(std::string_view bytes) {
  constexpr uint32_t kConfiguration = 26;  // of Model
  onnx::WireReader reader(bytes);
  while (!reader.done()) {
    const std::optional<onnx::WireField> field = reader.Next();
    if (!field) return false;
    if (field->number == kConfiguration) return true;
  }
  return false;
}

Result<std::vector<NodeAnnotation>> ReadNodes(std::string_view bytes, std::string_view where) {
  google::protobuf::Arena arena;
  auto& model = *google::protobuf::Arena::CreateMessage<sbp_onnx::Model>(&arena);
  SBP_RETURN_IF_ERROR(ParseWithoutPayloads(bytes, where, model));
  std::vector<NodeAnnotation> nodes;
  for (const sbp_onnx::Node& node : model.graph().node()) {
    nodes.push_back(BareNode(node, static_cast<int64_t>(nodes.size())));
  }
  return nodes;
}

Result<ShardingAnnotations> ReadShardingAnnotations(std::string_view bytes, std::string_view where) {
  google::protobuf::Arena arena;
  auto& model = *google::protobuf::Arena::CreateMessage<sbp_onnx::Model>(&arena);
  SBP_RETURN_IF_ERROR(ParseWithoutPayloads(bytes, where, model));

  ShardingAnnotations annotations;
  for (const sbp_onnx::DeviceConfiguration& message : model.configuration()) {
    annotations.configurations.push_back(
        {message.name(), message.num_devices(), {message.device().begin(), message.device().end()}});
  }
  std::vector<const sbp_onnx::Node*> nodes;
  for (const sbp_onnx::Node& node : model.graph().node()) {
    ReadNode(node, annotations.num_nodes++, annotations);
    nodes.push_back(&node);
  }
  for (const sbp_onnx::Function& function : model.functions()) {
    for (const sbp_onnx::Node& node : function.node()) {
      annotations.nested += node.device_configurations_size();
      nodes.push_back(&node);
    }
  }
  annotations.nested += CountNested(std::move(nodes));
  if (!annotations.nodes.empty()) annotations.tensors = TensorNames(model.graph());
  return annotations;
}

std::string PlaceOf(const NodeAnnotation& node) {
  return node.name.empty() ? StrCat(node.type, " #", node.number) : StrCat(node.type, " ", Quote(node.name));
}

}  // namespace sbp
