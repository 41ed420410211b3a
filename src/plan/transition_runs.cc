#include "plan/transition_runs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "graph/sections.h"
#include "sbp/sbp.h"

namespace sbp {

std::vector<int64_t> RunsOfTransitions(const Plan& plan, const StepRuns& runs) {
  if (plan.graph.micro_batches == 1) return std::vector<int64_t>(plan.transitions.size(), 1);
  std::unordered_map<TensorId, const NdSbp*> tied;  // how outputs of ties must end
  for (const Tie& tie : plan.graph.ties) {
    if (tie.input.index() < plan.source_layouts.size()) tied[tie.output] = &plan.source_layouts[tie.input.index()];
  }
  std::vector<int64_t> made(plan.transitions.size(), 0);
  std::unordered_map<TensorId, std::vector<size_t>> later;  // transitions of the tensor behind this one
  for (size_t i = plan.transitions.size(); i-- > 0;) {
    const Transition& transition = plan.transitions[i];
    std::vector<size_t>& behind = later[transition.tensor];
    for (const Use& use : transition.consumers) made[i] = std::max(made[i], runs.of(use.op));
    for (const size_t j : behind) {
      if (plan.transitions[j].from == transition.to) made[i] = std::max(made[i], made[j]);
    }
    const auto end = tied.find(transition.tensor);
    const bool ends = end != tied.end() ? *end->second == transition.to : made[i] == 0;
    if (ends || made[i] == 0) made[i] = std::max(made[i], runs.end(transition.tensor));
    behind.push_back(i);
  }
  return made;
}

std::vector<bool> ServesMicro(const Plan& plan, const StepRuns& runs) {
  std::vector<bool> serves(plan.transitions.size(), false);
  std::map<std::pair<TensorId, NdSbp>, bool> from;  // is what starts there for section micro?
  for (size_t i = serves.size(); i-- > 0;) {
    const Transition& transition = plan.transitions[i];
    const auto reads = [&](const Use& use) { return runs.of(use.op) > 1; };
    serves[i] = std::ranges::any_of(transition.consumers, reads) || from[{transition.tensor, transition.to}];
    if (serves[i]) from[{transition.tensor, transition.from}] = true;
  }
  return serves;
}

}  // namespace sbp
