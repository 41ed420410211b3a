// The bytes of a model as messages.
#pragma once

#include <string_view>

#include "base/status.h"
#include "onnx/onnx_ir.pb.h"

namespace sbp::onnx {

// `bytes`: without big payloads (wire.h). Errors (kBadInput): not a ModelProto, nested too deeply, no graph.
Status ParseModel(std::string_view bytes, sbp_onnx::Model& model);

}  // namespace sbp::onnx
