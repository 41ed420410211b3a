#include "plan/ends.h"

#include <algorithm>
#include <unordered_map>

#include "base/ids.h"
#include "graph/graph.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

using TransitionsOf = std::unordered_map<TensorId, std::vector<int32_t>>;

// Of the tensors that end in some way only.
TransitionsOf TransitionsOfEnds(const Plan& plan) {
  TransitionsOf found;
  for (const TensorId output : plan.graph.outputs) found.try_emplace(output);
  for (const Tie& tie : plan.graph.ties) found.try_emplace(tie.output);
  for (size_t i = 0; i < plan.transitions.size(); ++i) {
    const auto entry = found.find(plan.transitions[i].tensor);
    if (entry != found.end()) entry->second.push_back(static_cast<int32_t>(i));
  }
  return found;
}

}  // namespace

std::vector<TensorEnd> EndsOf(const Plan& plan) {
  const TransitionsOf transitions = TransitionsOfEnds(plan);
  std::vector<TensorEnd> ends;
  const auto add = [&](TensorId tensor, const NdSbp& layout) {
    TensorEnd end{tensor};
    if (plan.source_layouts[tensor.index()] != layout) {
      for (const int32_t i : transitions.at(tensor)) {
        if (plan.transitions[i].to != layout) continue;
        end.transition = i;
        break;
      }
    }
    ends.push_back(end);
  };
  const std::vector<NdSbp> layouts = OutputLayoutsOf(plan);
  for (size_t i = 0; i < plan.graph.outputs.size(); ++i) add(plan.graph.outputs[i], layouts[i]);
  for (const Tie& tie : plan.graph.ties) add(tie.output, plan.source_layouts[tie.input.index()]);
  return ends;
}

std::vector<NdSbp> OutputLayoutsOf(const Plan& plan) {
  if (plan.output_layouts.size() == plan.graph.outputs.size()) return plan.output_layouts;
  const TransitionsOf transitions = TransitionsOfEnds(plan);
  std::unordered_map<TensorId, TensorId> tied;
  for (const Tie& tie : plan.graph.ties) tied.emplace(tie.output, tie.input);
  std::vector<NdSbp> layouts;
  for (const TensorId output : plan.graph.outputs) {
    const auto tie = tied.find(output);
    NdSbp layout = plan.source_layouts[(tie != tied.end() ? tie->second : output).index()];
    for (const int32_t i : transitions.at(output)) {
      const Transition& made = plan.transitions[i];
      const bool leads_on = std::ranges::any_of(
          transitions.at(output), [&](int32_t j) { return j > i && plan.transitions[j].from == made.to; });
      if (tie == tied.end() && made.consumers.empty() && !leads_on) layout = made.to;
    }
    layouts.push_back(layout);
  }
  return layouts;
}

}  // namespace sbp
