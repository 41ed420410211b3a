// The words in the nodes of a drawing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "plan/plan.h"
#include "render/facts.h"
#include "render/outline_tree.h"
#include "render/view.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {

ViewNode OpNode(const Plan& plan, const StepCosts& costs, uint32_t op, Notation notation);
// What stands for all inputs, or outputs, that have no node of their own.
ViewNode RestNode(ViewNode::Kind kind);
// An input or parameter as a node of its own.
ViewNode SourceNode(const Plan& plan, TensorId tensor, Notation notation);
ViewNode OutputNode(const Plan& plan, TensorId tensor, const NdSbp* layout, Notation notation);
// A boxing step of a transition that a step makes `runs` times; bytes and time are of all of them.
ViewNode StepNode(const Plan& plan, const Transition& transition, int64_t runs, size_t step, Notation notation);

// What goes on inside a closed node of the outline: its ops, and the transitions among them.
ViewNode SummaryNode(const Plan& plan, const StepCosts& costs, const OutlineNode& node, const std::string& label,
                     int64_t copies, const std::vector<uint32_t>& ops, const std::vector<uint32_t>& inner_transitions);

// "2 all-reduce (8.4 MB)": collectives of a step by kind, local steps left out. "" when there are none.
std::string CountCollectives(const Plan& plan, const StepCosts& costs, const std::vector<uint32_t>& transitions);
std::string MeshAxisName(const Plan& plan, int axis);

}  // namespace sbp
