// `export --to onnx PLAN`: the plan's model with its layouts as multi-device annotations.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace sbp {

inline constexpr std::string_view kOnnxForm = "onnx";  // of --to

// Errors (kBadInput): no plan, its model is no ONNX file or has changed, a layout that annotations cannot say (`lossy`,
// as of SpecsOf).
Status ExportOnnx(const std::string& plan_path, const std::string& out, bool lossy);

}  // namespace sbp
