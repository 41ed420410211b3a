// ONNX's multi-device annotations (IR version 11 and newer): device configurations, and per node where the shards of
// what it reads and writes lie. As the file states them; annotation/ says what they mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace sbp {

struct DeviceConfiguration {
  std::string name;
  int64_t num_devices = 0;
  std::vector<std::string> devices;  // their names; may be empty
};

// How a dimension, or one of those that a reshape fused into it, is cut.
struct SimpleSharding {
  std::optional<int64_t> size;  // none: a symbol, or not stated
  int64_t num_shards = 0;
};
struct ShardedDim {
  int64_t axis = 0;  // negative: from the end
  std::vector<SimpleSharding> parts;
};

// Shards are numbered row-major over `dims`, in their order; shard i lies on devices[i].
struct ShardingSpec {
  std::string tensor;
  std::vector<int64_t> devices;                                  // a device, or a key of `groups`
  std::vector<std::pair<int64_t, std::vector<int64_t>>> groups;  // key, the devices that hold copies
  std::vector<ShardedDim> dims;
};

// What one node says for one configuration.
struct NodeAnnotation {
  std::string name, type;  // of the node
  int64_t number = 0;      // its place in the graph, from 0
  std::vector<std::string> inputs, outputs;
  std::string configuration;
  std::vector<ShardingSpec> specs;
  std::optional<int64_t> pipeline_stage;
};

struct ShardingAnnotations {
  std::vector<DeviceConfiguration> configurations;
  std::vector<NodeAnnotation> nodes;  // of the main graph, in the file's order
  std::vector<std::string> tensors;   // every name of the main graph's, ascending
  int64_t num_nodes = 0;              // of the main graph
  int64_t num_annotated = 0;          // of them
  int64_t nested = 0;                 // annotations inside subgraphs and local functions, which are not read
  bool empty() const { return configurations.empty() && nodes.empty() && nested == 0; }
};

// Does the model define a device configuration? Walks the fields of the model alone.
bool HasDeviceConfigurations(std::string_view bytes);

// Error (kBadInput): not a ModelProto. What the annotations say may be nonsense.
Result<ShardingAnnotations> ReadShardingAnnotations(std::string_view bytes, std::string_view where);

// The nodes of the main graph, without what they say of devices. Error (kBadInput): not a ModelProto.
Result<std::vector<NodeAnnotation>> ReadNodes(std::string_view bytes, std::string_view where);

// `MatMul "mm"`, of a node without a name `MatMul #3`.
std::string PlaceOf(const NodeAnnotation& node);

}  // namespace sbp
