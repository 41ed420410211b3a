// Why a collective appears: who wrote the tensor like that, and who needs it otherwise.
#pragma once

#include <string>

#include "base/ids.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "sbp/sbp.h"
#include "strategy/strategy.h"

namespace sbp {

// 'MatMul "fc2" reduces k over model: partial sum needed whole by Add "bias2" and 2 more'. `written` is the layout that
// the producer wrote; `by` who else wants this transition than its consumers: a tie, a pin, the graph (may be empty).
std::string TransitionReason(const Problem& problem, const Assignment& assignment, const Transition& transition,
                             const NdSbp& written, const std::string& by);

// 'Add "bias2"': how ops are named in reasons. With the scope beside it where the name is no path: 'MatMul
// "node_linear_3" (layers.0/mlp/fc1)'.
std::string OpLabel(const Graph& graph, OpId op);

}  // namespace sbp
