#include "strategy/transition_reason.h"

#include <vector>

#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"
#include "naming/module_names.h"
#include "rule/candidates.h"
#include "rule/factor_map.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

std::string NeededAs(Sbp to) {
  if (to.is_split()) return StrCat("split on dim ", to.dim());
  return to.is_partial() ? "partial" : "whole";
}

std::string StateOf(Sbp from) {
  if (from.is_partial()) return StrCat("partial ", ReduceKindName(from.reduce_kind()));
  return from.is_split() ? StrCat("parts of dim ", from.dim()) : "full copies";
}

// What the producer does on one axis that leaves its result like this.
std::string DoesOnAxis(const RuleInstance& instance, const AxisChoice& choice, Sbp written) {
  const auto& factors = instance.map.factors;
  const bool named =
      choice.kind == AxisChoice::Kind::kFactor && choice.index >= 0 && choice.index < static_cast<int>(factors.size());
  const std::string factor = named ? factors[choice.index].name : "";
  if (written.is_partial()) {
    return named ? StrCat("reduces ", factor) : StrCat("passes on a partial ", ReduceKindName(written.reduce_kind()));
  }
  if (written.is_split()) return named ? StrCat("splits ", factor) : StrCat("splits dim ", written.dim());
  return "computes whole tensors";
}

std::string Writer(const Problem& problem, const Assignment& assignment, TensorId id, int axis, Sbp from,
                   bool is_written) {
  const Graph& graph = *problem.graph;
  const Tensor& tensor = graph.tensor(id);
  const std::string over = StrCat(" over ", problem.mesh.axes[axis].name);
  if (!is_written)
    return StrCat("a copy of ", problem.names.QuotedLabel(graph, id), " stands as ", ToString(from), over);
  if (!tensor.producer.valid()) {
    const char* role = tensor.role == TensorRole::kParameter ? "parameter " : "input ";
    return StrCat(role, problem.names.QuotedLabel(graph, id), " starts ",
                  from.is_split() ? StrCat("split on dim ", from.dim()) : NeededAs(from), over);
  }
  const CandidateList& list = problem.candidates(tensor.producer);
  const Candidate& chosen = list.candidates[assignment.ops[tensor.producer.index()].candidate];
  return StrCat(OpLabel(graph, tensor.producer), " ", DoesOnAxis(*list.instance, chosen.axes[axis], from), over);
}

std::string Wanter(const Problem& problem, const Transition& transition, const std::string& by) {
  const Graph& graph = *problem.graph;
  std::string text;
  if (!transition.consumers.empty()) {
    text = OpLabel(graph, transition.consumers[0].op);
    if (transition.consumers.size() > 1) text += StrCat(" and ", transition.consumers.size() - 1, " more");
  }
  if (!by.empty()) text += StrCat(text.empty() ? "" : " and ", by);
  return text.empty() ? "the transitions that start from it" : text;
}

}  // namespace

std::string OpLabel(const Graph& graph, OpId op) {
  return StrCat(graph.type_of(graph.op(op)), " ", Quote(graph.op(op).name), ScopeBeside(graph, op));
}

std::string TransitionReason(const Problem& problem, const Assignment& assignment, const Transition& transition,
                             const NdSbp& written, const std::string& by) {
  std::vector<std::string> parts;
  for (int axis = 0; axis < problem.mesh.num_axes(); ++axis) {
    const Sbp from = transition.from[axis], to = transition.to[axis];
    if (from == to) continue;
    parts.push_back(StrCat(Writer(problem, assignment, transition.tensor, axis, from, from == written[axis]), ": ",
                           StateOf(from), " needed ", NeededAs(to)));
  }
  return StrCat(Join(parts, "; "), " by ", Wanter(problem, transition, by));
}

}  // namespace sbp
