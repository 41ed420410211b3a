// Scan of opset 8, which has a batch axis, as one of opset 9.
#pragma once

#include "base/status.h"
#include "onnx/node_form.h"

namespace sbp::onnx {

// A scan over the batch (axis 0 of every operand and result), each step of which is the scan itself. Errors: lengths
// per sample (`sequence_lens`), a node without a body.
Status NestBatchedScan(NodeForm& node);

}  // namespace sbp::onnx
