// `check` of an ONNX model: are its multi-device annotations right, and what communication do they imply?
#pragma once

#include <string_view>

#include "api/planning.h"
#include "base/status.h"
#include "cli/output.h"
#include "rule/rule_set.h"

namespace sbp {

// Prints the report. Error: kMismatch where there is a violation; those of CheckAnnotations (api/annotations.h).
Status CheckAnnotatedModel(std::string_view bytes, const PlanningInput& input, const RuleSet& rules,
                           const OutputFlags& output);

}  // namespace sbp
