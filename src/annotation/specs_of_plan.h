// A plan's layouts as sharding specs of the model file that it was made from.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "onnx/annotate.h"
#include "onnx/annotations.h"
#include "plan/plan.h"
#include "sbp/sbp.h"

namespace sbp {

// How each tensor lies behind its producer: as it is written, partial axes as the first reader has them that takes it
// whole or split; B on an axis where the plan reduces it nowhere.
std::vector<NdSbp> LaidOut(const Plan& plan);

struct PlanSpecs {
  DeviceConfiguration configuration;          // devices are called by their coordinates
  std::map<int64_t, NodeAddition> additions;  // by the node's number
  std::vector<std::string> notes;             // what the plan has and annotations cannot say
};

// Per node how it takes and leaves its tensors; of a partial result the layout after the reduction that follows.
// Metadata: "sbp_plan.nd_sbp", the signature with its partial layouts, and "sbp_plan.reason". Nodes that were folded,
// and uses of a tensor that parts of a node take differently, have none. Error (kBadInput): a tensor that an op takes
// while it is partial, which no spec can say; names the first ones.
// `lossy`: ops that take partial values are annotated as whole (B) on those mesh axes instead, operands and results, so
// that values are reduced at their producer; a note says how many. `check` of the file prices what that implies.
Result<PlanSpecs> SpecsOf(const Plan& plan, const std::vector<NodeAnnotation>& nodes, bool lossy = false);

}  // namespace sbp
