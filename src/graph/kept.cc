#include "graph/kept.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/ids.h"
#include "graph/each_operand.h"
#include "graph/graph.h"
#include "graph/phases.h"

namespace sbp {
namespace {

std::vector<Phase> PhasesOfScopes(const Graph& graph) {
  std::vector<Phase> phases;
  for (const std::string& scope : graph.scopes) phases.push_back(PhaseOfScope(scope));
  return phases;
}

}  // namespace

std::vector<bool> OfParameters(const Graph& graph) {
  std::vector<bool> of(graph.tensors.size(), false);
  for (size_t t = 0; t < graph.tensors.size(); ++t) of[t] = graph.tensors[t].role == TensorRole::kParameter;
  for (const Op& op : graph.ops) {
    bool all = true, any = false;
    EachOperand(op, [&](TensorId id) {
      any = true;
      all = all && of[id.index()];
    });
    if (!all || !any) continue;
    for (const TensorId id : op.outputs) {
      if (id.valid()) of[id.index()] = true;
    }
  }
  return of;
}

std::vector<KeptTensor> FindKept(const Graph& graph) {
  constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  const std::vector<Phase> phases = PhasesOfScopes(graph);
  const std::vector<bool> of_parameters = OfParameters(graph);
  std::vector<uint32_t> place(graph.tensors.size(), kNone);
  std::vector<KeptTensor> kept;
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    if (phases[graph.ops[o].scope] != Phase::kBackward) continue;
    EachOperand(graph.ops[o], [&](TensorId id) {
      const OpId producer = graph.tensor(id).producer;
      if (!producer.valid() || of_parameters[id.index()]) return;
      if (phases[graph.op(producer).scope] != Phase::kForward) return;
      uint32_t& at = place[id.index()];
      if (at == kNone) {
        at = static_cast<uint32_t>(kept.size());
        kept.push_back({id, {}});
      }
      std::vector<OpId>& readers = kept[at].readers;
      if (readers.empty() || readers.back() != OpId(o)) readers.emplace_back(o);
    });
  }
  std::ranges::sort(kept, {}, &KeptTensor::tensor);
  return kept;
}

bool HasBackward(const Graph& graph) {
  const std::vector<Phase> phases = PhasesOfScopes(graph);
  return std::ranges::any_of(graph.ops, [&](const Op& op) { return phases[op.scope] == Phase::kBackward; });
}

}  // namespace sbp
