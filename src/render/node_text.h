// The words in the nodes of a drawing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "plan/plan.h"
#include "render/outline.h"
#include "render/view.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {

ViewNode OpNode(const Plan& plan, uint32_t op, Notation notation);
// An input or parameter as a node of its own.
ViewNode SourceNode(const Plan& plan, TensorId tensor, Notation notation);
ViewNode OutputNode(const Plan& plan, TensorId tensor, const NdSbp* layout, Notation notation);
// A boxing step of a transition.
ViewNode StepNode(const Plan& plan, const Transition& transition, size_t step, Notation notation);

// What goes on inside a closed node of the outline: its ops, and the transitions among them.
ViewNode SummaryNode(const Plan& plan, const OutlineNode& node, const std::string& label, int64_t copies,
                     const std::vector<uint32_t>& ops, const std::vector<uint32_t>& inner_transitions);

// "2 all-reduce (8.4 MB)": collectives by kind, local steps left out. "" when there are none.
std::string CountCollectives(const Plan& plan, const std::vector<uint32_t>& transitions);
std::string MeshAxisName(const Plan& plan, int axis);

}  // namespace sbp
