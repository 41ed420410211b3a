// Writes multi-device annotations into a model file; whatever else it holds stays byte by byte as it is.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "onnx/annotations.h"

namespace sbp {

struct NodeAddition {
  std::vector<ShardingSpec> specs;
  std::vector<std::pair<std::string, std::string>> metadata;  // keys begin with kMetadataPrefix
};
inline constexpr std::string_view kMetadataPrefix = "sbp_plan.";

// The model with this configuration and these additions (by the number of the node in the main graph) in the place of
// all annotations, and metadata with our prefix, that its main graph has; of IR version 11 at least. Error (kBadInput):
// no ModelProto, or one whose graph is written in several parts.
Result<std::string> Annotate(std::string_view model, const DeviceConfiguration& configuration,
                             const std::map<int64_t, NodeAddition>& additions);

}  // namespace sbp
