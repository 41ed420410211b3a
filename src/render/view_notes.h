// What a drawing of the graph says besides its ops: notes under its title, and the times of its frames.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "render/facts.h"
#include "render/opening.h"
#include "render/view.h"

namespace sbp {

// That the plan does not fit, and its first warnings.
std::vector<std::string> WarningNotes(const Plan& plan);
// Of scopes that stay folded: why they do where a drawing holds no more than `most`, else what opens one.
std::string FoldedNote(const Opening& opening, size_t max_nodes, size_t most);

// Notes of frames: seconds of all in them in a step, of frames that stand for several copies in each of these.
// `node_of`: the node that stands for an op, -1: none. Of graphs without a plan nothing.
void DescribeGroups(const Plan& plan, const StepCosts& costs, const std::function<int32_t(OpId)>& node_of, View& view);

// By inputs that are drawn: those that folded copies of their readers read in their place. `stand_in`: per op, that
// which is drawn for it.
std::map<TensorId, std::set<TensorId>> FoldedInputs(const Graph& graph, std::span<const uint32_t> stand_in);

}  // namespace sbp
