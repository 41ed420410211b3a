// Operators that onnxruntime had in its own domain before ONNX took them in: they are read as ONNX's, whose rules and
// kernels they share.
#pragma once

#include <cstdint>
#include <optional>

#include "onnx/node_form.h"

namespace sbp::onnx {

// Gives a node of com.microsoft the name of the same operator of ONNX, and says of which opset its form is. nullopt:
// ONNX has none, or not with these attributes; the node is as it was.
std::optional<int64_t> AdoptByOnnx(NodeForm& node);

}  // namespace sbp::onnx
