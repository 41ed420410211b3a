// Upgrades old operator forms to the newest one, so that one rule an op is enough.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "onnx/node_form.h"

namespace sbp::onnx {

// The node of opset `version` of ONNX's own domain in its newest form: attributes that became inputs are constants, old
// names are new ones; almost always one node. A form that depends on a rank which the file does not state keeps the
// attribute kFlattenFrom until shapes are known (fold/).
Result<std::vector<NodeForm>> Upgrade(NodeForm node, int64_t version, UpgradeSite& site);

}  // namespace sbp::onnx
