// Forms of opsets 1 to 6, turned into those of opset 7.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "onnx/node_form.h"

namespace sbp::onnx {

// Nodes to run before it, then the node itself in opset 7's form. Requires version < 7. Errors: an op whose old form is
// not read, a broadcast whose place only a rank tells that the file does not state.
Result<std::vector<NodeForm>> UpgradeToOpset7(NodeForm node, int64_t version, UpgradeSite& site);

}  // namespace sbp::onnx
