#include "page/step_phases.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "graph/tensor_type.h"

namespace sbp {
namespace {

constexpr std::string_view kGradientPrefix = "grad/";  // torch/reader.h, graph/families.h

// What the step returns for each parameter.
struct Returned {
  std::vector<bool> is_gradient;           // per tensor: a gradient, or what replaces a parameter
  std::map<TensorId, TensorId> parameter;  // of what replaces one
  bool any = false, has_loss = false;
};

Returned FindReturned(const Graph& graph) {
  Returned returned;
  returned.is_gradient.assign(graph.tensors.size(), false);
  for (const Tie& tie : graph.ties) {
    if (tie.restarts || graph.tensor(tie.input).role != TensorRole::kParameter) continue;
    returned.is_gradient[tie.output.index()] = true;
    returned.parameter[tie.output] = tie.input;
  }
  // Running statistics are replaced by forward passes, too: a step replaces most of what it could train.
  const auto is_weight = [](const Tensor& tensor) {
    return tensor.role == TensorRole::kParameter && IsFloat(tensor.type.dtype) && tensor.type.rank() > 0;
  };
  if (2 * returned.parameter.size() <= static_cast<size_t>(std::ranges::count_if(graph.tensors, is_weight))) {
    returned.parameter.clear();
    returned.is_gradient.assign(graph.tensors.size(), false);
  }
  for (const TensorId id : graph.outputs) {
    if (graph.tensor(id).name.starts_with(kGradientPrefix)) returned.is_gradient[id.index()] = true;
  }
  for (const TensorId id : graph.outputs) {
    const Tensor& tensor = graph.tensor(id);
    if (returned.is_gradient[id.index()]) {
      returned.any = true;
    } else if (tensor.type.rank() == 0 && IsFloat(tensor.type.dtype)) {
      returned.has_loss = true;
    }
  }
  return returned;
}

// Per op the output of those in `ends` that it leads to, alone; kNone: to none, kSeveral.
constexpr uint32_t kNone = UINT32_MAX, kSeveral = UINT32_MAX - 1;

std::vector<uint32_t> EndsOf(const Graph& graph, const std::vector<TensorId>& ends) {
  std::vector<uint32_t> of_tensor(graph.tensors.size(), kNone), of_op(graph.ops.size(), kNone);
  const auto join = [](uint32_t& into, uint32_t other) {
    if (other == kNone || into == other) return;
    into = into == kNone ? other : kSeveral;
  };
  for (const TensorId id : ends) join(of_tensor[id.index()], id.value);
  for (size_t o = graph.ops.size(); o-- > 0;) {  // readers before producers
    for (const TensorId id : graph.ops[o].outputs) {
      if (id.valid()) join(of_op[o], of_tensor[id.index()]);
    }
    for (const TensorId id : graph.OperandsOf(graph.ops[o])) {
      if (id.valid()) join(of_tensor[id.index()], of_op[o]);
    }
  }
  return of_op;
}

// Of the ops that lead to one output alone, those that follow from what it replaces.
void MarkOptimizer(const Graph& graph, const Returned& returned, const std::vector<uint32_t>& end_of,
                   std::vector<Phase>& phases) {
  std::vector<bool> follows(graph.ops.size(), false);
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    if (phases[o] != Phase::kBackward || end_of[o] >= kSeveral) continue;
    const auto replaced = returned.parameter.find(TensorId(end_of[o]));
    if (replaced == returned.parameter.end()) continue;
    follows[o] = std::ranges::any_of(graph.OperandsOf(graph.ops[o]), [&](TensorId id) {
      if (!id.valid()) return false;
      const OpId producer = graph.tensor(id).producer;
      return id == replaced->second || (producer.valid() && follows[producer.index()]);
    });
    if (follows[o]) phases[o] = Phase::kOptimizer;
  }
}

}  // namespace

std::vector<Phase> PhasesOfStep(const Graph& graph) {
  std::vector<Phase> phases;
  for (const Op& op : graph.ops) phases.push_back(PhaseOf(graph, op));
  if (std::ranges::any_of(phases, [](Phase phase) { return phase != Phase::kForward; })) return phases;
  const Returned returned = FindReturned(graph);
  if (!returned.any || !returned.has_loss) return phases;
  std::vector<TensorId> gradients, others;
  for (const TensorId id : graph.outputs) (returned.is_gradient[id.index()] ? gradients : others).push_back(id);
  const std::vector<uint32_t> gradient_of = EndsOf(graph, gradients), other_of = EndsOf(graph, others);
  for (size_t o = 0; o < phases.size(); ++o) {
    if (gradient_of[o] != kNone && other_of[o] == kNone) phases[o] = Phase::kBackward;
  }
  MarkOptimizer(graph, returned, gradient_of, phases);
  return phases;
}

bool AreTraced(const Graph& graph, const std::vector<Phase>& phases) {
  for (size_t o = 0; o < phases.size(); ++o) {
    if (phases[o] != PhaseOf(graph, graph.ops[o])) return true;
  }
  return false;
}

void SetPhaseScopes(const std::vector<Phase>& phases, Graph& graph) {
  std::map<std::pair<Phase, uint32_t>, uint32_t> known;  // phase and scope -> scope
  for (size_t o = 0; o < phases.size(); ++o) {
    if (phases[o] == Phase::kForward) continue;
    uint32_t& scope = graph.ops[o].scope;
    const auto [entry, is_new] = known.try_emplace({phases[o], scope}, static_cast<uint32_t>(graph.scopes.size()));
    if (is_new) {
      const std::string& inner = graph.scopes[scope];
      graph.scopes.push_back(StrCat(PhaseName(phases[o]), inner.empty() ? "" : "/", inner));
    }
    scope = entry->second;
  }
}

}  // namespace sbp
