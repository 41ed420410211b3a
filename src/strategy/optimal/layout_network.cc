#include "strategy/optimal/layout_network.h"

#include <algorithm>
#include <unordered_map>

#include "base/checked_math.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "plan/pins.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "sbp/layout_rows.h"
#include "sbp/sbp.h"
#include "strategy/optimal/layout_network_builder.h"

namespace sbp {

Result<LayoutNetwork> LayoutNetwork::Build(const Problem& problem, const LayoutNetworkOptions& options) {
  return LayoutNetworkBuilder(problem, options).Build();
}

void LayoutNetwork::Read(std::span<const int32_t> choice, Assignment& assignment) const {
  assignment.ops.resize(lists_.num_ops());
  for (size_t o = 0; o < lists_.num_ops(); ++o) assignment.ops[o].candidate = lists_.of(OpId(o))[choice[o]];
  assignment.reasons = {"part of the cheapest plan found"};
  assignment.sources = InitialSourceLayouts(*problem_);
  for (const TensorNode& entry : tensor_nodes_) {
    if (problem_->graph->tensor(entry.tensor).producer.valid()) continue;
    assignment.sources[entry.tensor.index()] = entry.states->written[choice[entry.node]];
  }
}

std::vector<int32_t> LayoutNetwork::Kinds() const {
  std::vector<int32_t> kinds(first_reserved_.value_or(network_.nodes.size()),
                             -1);                    // of holders: what they follow says enough
  std::unordered_map<const void*, int32_t> numbers;  // lists and states are shared by all that are alike
  const auto number = [&](const void* of) {
    return numbers.try_emplace(of, static_cast<int32_t>(numbers.size())).first->second;
  };
  for (size_t o = 0; o < lists_.num_ops(); ++o) kinds[o] = number(&lists_.of(OpId(o)));
  for (const TensorNode& entry : tensor_nodes_) kinds[entry.node] = number(entry.states.get());
  return kinds;
}

// Per tensor node the hub that costs least with the ops as they are.
void LayoutNetwork::ChooseHubs(std::vector<int32_t>& choice) const {
  std::vector<std::vector<const CostNetwork::Edge*>> edges(network_.nodes.size());
  for (const CostNetwork::Edge& edge : network_.edges) {
    for (const int32_t node : edge.nodes) edges[node].push_back(&edge);
  }
  for (const TensorNode& entry : tensor_nodes_) {
    const NdSbp written = entry.states->written[choice[entry.node]];
    int64_t least = kInt64Max;
    for (int32_t state = 0; state < static_cast<int32_t>(entry.states->written.size()); ++state) {
      if (entry.states->written[state] != written) continue;
      int64_t cost = network_.costs[network_.nodes[entry.node].costs][state];
      for (const CostNetwork::Edge* edge : edges[entry.node]) {
        const bool first = edge->nodes[0] == entry.node;
        const int32_t a = first ? state : choice[edge->nodes[0]];
        const int32_t b = first ? choice[edge->nodes[1]] : state;
        cost = SaturatingAdd(cost, network_.costs[edge->costs][network_.EntryOf(*edge, a, b)]);
      }
      if (cost >= least) continue;
      least = cost;
      choice[entry.node] = state;
    }
  }
}

Result<std::vector<int32_t>> LayoutNetwork::Write(const Assignment& assignment) const {
  const Graph& graph = *problem_->graph;
  std::vector<int32_t> choice(network_.nodes.size(), 0);
  for (size_t o = 0; o < lists_.num_ops(); ++o) {
    const CandidateLists::List& list = lists_.of(OpId(o));
    const auto found = std::find(list.begin(), list.end(), assignment.ops[o].candidate);
    if (found == list.end()) {
      return Defect(StrCat("op ", Quote(graph.ops[o].name), ": candidate ", assignment.ops[o].candidate,
                           " is not in the network"));
    }
    choice[o] = static_cast<int32_t>(found - list.begin());
  }
  const auto signature = [&](OpId op) -> const CandidateSignature& {
    return problem_->candidates(op).candidates[assignment.ops[op.index()].candidate].signature;
  };
  const auto written = [&](TensorId tensor) -> const NdSbp& {
    if (const TensorPin* pin = problem_->demands.standing(tensor); pin != nullptr) return pin->layout;
    const Tensor& facts = graph.tensor(tensor);
    return facts.producer.valid() ? signature(facts.producer).outputs[facts.producer_index]
                                  : assignment.sources[tensor.index()];
  };
  for (const TensorNode& entry : tensor_nodes_) {
    const NdSbp& from = written(entry.tensor);
    const auto state = std::find(entry.states->written.begin(), entry.states->written.end(), from);
    if (state == entry.states->written.end()) {
      return Defect(StrCat("tensor ", Quote(graph.tensor(entry.tensor).name), " lies ", ToString(from),
                           ", which is not in the network"));
    }
    choice[entry.node] = static_cast<int32_t>(state - entry.states->written.begin());
  }
  ChooseHubs(choice);
  for (const HolderNode& entry : holder_nodes_) choice[entry.node] = entry.state_of_candidate[choice[entry.producer]];
  return choice;
}

}  // namespace sbp
