#include "strategy/optimal/layout_network.h"

#include <algorithm>

#include "base/text.h"
#include "plan/plan.h"
#include "strategy/optimal/layout_network_builder.h"
#include "strategy/transitions.h"

namespace sbp {

Result<LayoutNetwork> LayoutNetwork::Build(const Problem& problem, const LayoutNetworkOptions& options) {
  return LayoutNetworkBuilder(problem, options).Build();
}

void LayoutNetwork::Read(std::span<const int32_t> choice, Assignment& assignment) const {
  assignment.ops.resize(allowed_.size());
  for (size_t o = 0; o < allowed_.size(); ++o) assignment.ops[o].candidate = allowed_[o][choice[o]];
  assignment.reasons = {"part of the cheapest plan found"};
  assignment.sources = InitialSourceLayouts(*problem_);
  for (const TensorNode& entry : tensor_nodes_) {
    if (problem_->graph->tensor(entry.tensor).producer.valid()) continue;
    assignment.sources[entry.tensor.index()] = entry.written[choice[entry.node]];
  }
}

// The state of least seconds.
int32_t LayoutNetwork::BestState(const TensorNode& entry, const NdSbp& written, std::span<const NdSbp> wanted) const {
  const TensorType& type = problem_->type(entry.tensor);
  int32_t best = -1;
  double best_seconds = 0;
  for (size_t s = 0; s < entry.written.size(); ++s) {
    if (entry.written[s] != written) continue;
    const double seconds = SecondsWithHub(type, written, entry.hubs[s], wanted, *problem_->boxing);
    if (best >= 0 && seconds >= best_seconds) continue;
    best = static_cast<int32_t>(s);
    best_seconds = seconds;
  }
  return best;
}

Result<std::vector<int32_t>> LayoutNetwork::Write(const Assignment& assignment) const {
  const Graph& graph = *problem_->graph;
  std::vector<int32_t> choice(network_.nodes.size(), 0);
  for (size_t o = 0; o < allowed_.size(); ++o) {
    const auto found = std::find(allowed_[o].begin(), allowed_[o].end(), assignment.ops[o].candidate);
    if (found == allowed_[o].end()) {
      return Defect(StrCat("op ", Quote(graph.ops[o].name), ": candidate ", assignment.ops[o].candidate, " is not in the network"));
    }
    choice[o] = static_cast<int32_t>(found - allowed_[o].begin());
  }
  const auto signature = [&](OpId op) -> const Signature& {
    return problem_->candidates(op).candidates[assignment.ops[op.index()].candidate].signature;
  };
  const auto written = [&](TensorId tensor) -> const NdSbp& {
    const Tensor& facts = graph.tensor(tensor);
    return facts.producer.valid() ? signature(facts.producer).outputs[facts.producer_index]
                                  : assignment.sources[tensor.index()];
  };
  std::unordered_map<TensorId, TensorId> ties;
  for (const Tie& tie : graph.ties) ties.emplace(tie.output, tie.input);
  std::vector<std::vector<NdSbp>> wanted(tensor_nodes_.size());
  for (size_t n = 0; n < tensor_nodes_.size(); ++n) {
    const TensorNode& entry = tensor_nodes_[n];
    const NdSbp& from = written(entry.tensor);
    const auto [begin, end] = problem_->uses.of(entry.tensor);
    for (const Use* use = begin; use != end; ++use) {
      const NdSbp& layout = signature(use->op).inputs[use->operand];
      if (layout != from && std::find(wanted[n].begin(), wanted[n].end(), layout) == wanted[n].end()) {
        wanted[n].push_back(layout);
      }
    }
    if (const auto tie = ties.find(entry.tensor); tie != ties.end()) {
      const NdSbp& layout = written(tie->second);
      if (layout != from && std::find(wanted[n].begin(), wanted[n].end(), layout) == wanted[n].end()) {
        wanted[n].push_back(layout);
      }
    }
    const int32_t state = BestState(entry, from, wanted[n]);
    if (state < 0) {
      return Defect(StrCat("tensor ", Quote(graph.tensor(entry.tensor).name), " lies ", ToString(from),
                           ", which is not in the network"));
    }
    choice[entry.node] = state;
  }
  for (const HolderNode& entry : holder_nodes_) choice[entry.node] = entry.state_of_candidate[choice[entry.producer]];
  return choice;
}

}  // namespace sbp
