#include "parallelism/activations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "boxing/boxing.h"
#include "cluster/collective_kind.h"
#include "graph/again.h"
#include "graph/families.h"
#include "graph/graph.h"
#include "graph/phases.h"
#include "plan/plan.h"
#include "recipe/roles.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

bool IsUnder(std::string_view scope, std::string_view parent) {
  return scope.starts_with(parent) && (scope.size() == parent.size() || scope[parent.size()] == '/');
}

// The model's own forward pass, without the loss that was added to it.
bool IsForward(const Graph& graph, const Op& op) {
  return PhaseOf(graph, op) == Phase::kForward && !IsUnder(graph.scope_of(op), kLossScope);
}

// How a residual sum lies over an axis: as it is written, one in parts as those who read it have it.
Sbp LiesOver(const Plan& plan, const UseTable& uses, TensorId id, int axis) {
  const Sbp written = plan.source_layouts[id.index()][axis];
  if (!written.is_partial()) return written;
  const auto [begin, end] = uses.of(id);
  for (const Use* use = begin; use != end; ++use) {
    const Op& op = plan.graph.op(use->op);
    if (plan.graph.type_of(op) != "Add" || !IsForward(plan.graph, op)) continue;
    const Sbp read = plan.decision(use->op).signature.inputs[use->operand][axis];
    if (!read.is_partial()) return read;
  }
  return Sbp::Broadcast();
}

ResidualUse ResidualUseOf(Sbp lies) {
  return lies.is_broadcast() ? ResidualUse::kWhole : lies.is_split(1) ? ResidualUse::kSequence : ResidualUse::kOther;
}

// The module that routes tokens to experts: "layers.0.moe" of "layers.0.moe.experts.up_proj", else the level above.
std::string ModuleOfExperts(std::string_view path) {
  const size_t named = path.find(".experts");
  const size_t at = named == std::string_view::npos ? path.rfind('.') : named;
  return std::string(at == std::string_view::npos ? path : path.substr(0, at));
}

// Of sums of two activations those between layers: of the shape that most have, the last one where two have as many.
// Rotated heads and activations of polynomials are others.
std::vector<TensorId> BetweenLayers(const Graph& graph, const std::vector<TensorId>& sums) {
  std::map<std::vector<int64_t>, size_t> counts;
  std::vector<int64_t> most;
  for (const TensorId id : sums) ++counts[graph.tensor(id).type.shape];
  for (const TensorId id : sums) {
    const std::vector<int64_t>& shape = graph.tensor(id).type.shape;
    if (most.empty() || counts[shape] >= counts[most]) most = shape;
  }
  std::vector<TensorId> between;
  std::ranges::copy_if(sums, std::back_inserter(between),
                       [&](TensorId id) { return graph.tensor(id).type.shape == most; });
  return between;
}

// Which steps of transitions a use of an axis implies.
class Implied {
 public:
  Implied(const Plan& plan, const Fold& fold) : plan_(plan), fold_(fold) {
    for (const FoldedParameter& parameter : fold.parameters) {
      const bool expert = std::ranges::find(parameter.styles, ParameterStyle::kExpert) != parameter.styles.end();
      if (expert) experts_.insert(ModuleOfExperts(parameter.module));
    }
  }

  bool Has(const Transition& transition, const BoxingStep& step) const {
    const Sbp from = step.from[step.axis], to = step.to[step.axis];
    switch (fold_.axes[static_cast<size_t>(step.axis)].use) {
      case AxisUse::kTensor:
        return OverTensor(from, to, step.axis);
      case AxisUse::kContext:  // keys and values for all positions
        return from.is_split() && to.is_broadcast();
      case AxisUse::kExpert:  // tokens to their experts and back
        return IsOfExperts(transition);
      case AxisUse::kData:  // each rank is fed its part of the batch
        return !plan_.graph.tensor(transition.tensor).producer.valid() && from.is_broadcast() && to.is_split(0);
      case AxisUse::kIdle:
        return false;
    }
    return false;
  }

 private:
  // A sum in parts becomes what lies between layers, which is gathered for products and split behind tables.
  bool OverTensor(Sbp from, Sbp to, int axis) const {
    const ResidualUse use = fold_.axes[static_cast<size_t>(axis)].residual;
    const auto between = [&](Sbp sbp) { return use == ResidualUse::kSequence && sbp.is_split(1); };
    const bool to_rest = to.is_broadcast() || between(to) || (use == ResidualUse::kOther && to.is_split(0));
    if (from.is_partial() && from.reduce_kind() == ReduceKind::kSum) return to_rest;
    if (use == ResidualUse::kOther) {  // the sums themselves are listed
      return (from.is_split(0) && to.is_broadcast()) || (from.is_broadcast() && to.is_split(0));
    }
    return (between(from) && to.is_broadcast()) || (from.is_broadcast() && between(to));
  }

  bool IsOfExperts(const Transition& transition) const {
    const auto touches = [&](OpId id) {
      if (!id.valid()) return false;
      std::string scope = plan_.graph.scope_of(plan_.graph.op(id));
      std::ranges::replace(scope, '/', '.');
      return std::ranges::any_of(experts_, [&](const std::string& module) {
        return scope == module || scope.starts_with(module + ".") || scope.ends_with("." + module) ||
               module.ends_with("." + scope) || scope.find("." + module + ".") != std::string::npos;
      });
    };
    return touches(plan_.graph.tensor(transition.tensor).producer) ||
           std::ranges::any_of(transition.consumers, [&](const Use& use) { return touches(use.op); });
  }

  const Plan& plan_;
  const Fold& fold_;
  std::set<std::string> experts_;  // modules that hold stacked experts
};

// Of a layer's forward pass, and of what the backward pass computes again of it.
struct Seen {
  int64_t products = 0, again_products = 0, again = 0;
  bool attention = false;
};

Recomputation RecomputationOf(const Seen& seen) {
  if (seen.again == 0) return Recomputation::kNone;
  if (seen.again_products > 0)
    return seen.again_products + 1 >= seen.products ? Recomputation::kFull : Recomputation::kAlternate;
  return seen.attention ? Recomputation::kSelective : Recomputation::kLight;
}

// Over an axis: tensors that transitions split.
using SplitLater = std::set<std::pair<TensorId, int>>;

SplitLater FindSplitLater(const Plan& plan) {
  SplitLater found;
  for (const Transition& transition : plan.transitions) {
    for (int axis = 0; axis < transition.to.size(); ++axis) {
      if (transition.to[axis].is_split()) found.emplace(transition.tensor, axis);
    }
  }
  return found;
}

// Does all that the forward pass reads by the transition go on in parts over the axis, as lookups of whole tokens in
// parts of a table do, whose sums are scattered? Else all ranks compute the same from there on.
bool GoesOnSplit(const Plan& plan, const Transition& transition, int axis, const SplitLater& split_later) {
  return std::ranges::all_of(transition.consumers, [&](const Use& use) {
    const Op& op = plan.graph.op(use.op);
    if (!IsForward(plan.graph, op)) return true;
    for (size_t k = 0; k < op.outputs.size(); ++k) {
      if (!op.outputs[k].valid()) continue;
      if (plan.decision(use.op).signature.outputs[k][axis].is_split()) return true;
      if (split_later.contains({op.outputs[k], axis})) return true;
    }
    return false;
  });
}

enum class ReadBy : uint8_t { kNobody, kForward, kLossOrBackward, kOptimizer };

ReadBy WhoReads(const Plan& plan, const Transition& transition) {
  ReadBy read = ReadBy::kNobody;
  for (const Use& use : transition.consumers) {
    const Op& op = plan.graph.op(use.op);
    if (IsForward(plan.graph, op)) return ReadBy::kForward;
    read = PhaseOf(plan.graph, op) == Phase::kOptimizer ? ReadBy::kOptimizer : ReadBy::kLossOrBackward;
  }
  return read;
}

}  // namespace

void FoldResiduals(const Plan& plan, const Roles& roles, Fold& fold) {
  const UseTable uses = BuildUses(plan.graph);
  const std::vector<TensorId> sums = BetweenLayers(plan.graph, roles.residual);
  for (int axis = 0; axis < plan.mesh.num_axes(); ++axis) {
    FoldedAxis& folded = fold.axes[static_cast<size_t>(axis)];
    if (folded.use != AxisUse::kTensor || sums.empty()) continue;
    std::map<ResidualUse, int64_t> counts;
    for (const TensorId id : sums) ++counts[ResidualUseOf(LiesOver(plan, uses, id, axis))];
    folded.residual = std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; })->first;
    for (const TensorId id : sums) {
      const Sbp lies = LiesOver(plan, uses, id, axis);
      if (ResidualUseOf(lies) == folded.residual && folded.residual != ResidualUse::kOther) continue;
      const std::string_view most = folded.residual == ResidualUse::kWhole      ? ", most sums between layers whole"
                                    : folded.residual == ResidualUse::kSequence ? ", most sums between layers S(1)"
                                                                                : "";
      fold.unfolded.push_back({plan.graph.tensor(id).name,
                               StrCat("lies ", ToString(lies), " between layers over ", plan.mesh.axes[axis].name, most,
                                      "; there it is whole, or with sequence parallelism S(1)")});
    }
  }
}

void FoldTransitions(const Plan& plan, Fold& fold) {
  const Implied implied(plan, fold);
  const SplitLater split_later = FindSplitLater(plan);
  std::set<TensorId> parameters;
  for (const FoldedParameter& parameter : fold.parameters) parameters.insert(parameter.id);
  for (const Op& op : plan.graph.ops) {
    if (HandsOn(plan.graph, op) && parameters.contains(op.inputs[0])) parameters.insert(op.outputs[0]);
  }
  for (const Transition& transition : plan.transitions) {
    const Tensor& tensor = plan.graph.tensor(transition.tensor);
    const ReadBy read = WhoReads(plan, transition);
    const bool starts_partial =  // which is said already
        tensor.role == TensorRole::kInput && plan.source_layouts[transition.tensor.index()].has_partial();
    if (starts_partial || parameters.contains(transition.tensor) || read == ReadBy::kOptimizer ||
        read == ReadBy::kNobody)
      continue;
    const bool of_integers = tensor.role == TensorRole::kInput && IsInteger(tensor.type.dtype);  // tokens, positions
    const bool of_loss = tensor.producer.valid() && !IsForward(plan.graph, plan.graph.op(tensor.producer));
    for (const BoxingStep& step : transition.steps) {
      const bool local = step.kind == CollectiveKind::kFill && tensor.literal != nullptr;  // a number
      if (local || plan.mesh.size(step.axis) == 1 || implied.Has(transition, step)) continue;
      const std::string reason =
          StrCat("goes from ", ToString(step.from), " to ", ToString(step.to), " by ", CollectiveKindName(step.kind),
                 " over ", plan.mesh.axes[step.axis].name, ", which ",
                 AxisUseName(fold.axes[static_cast<size_t>(step.axis)].use), " parallelism does not imply");
      const bool derived =
          read != ReadBy::kForward || of_loss || (of_integers && GoesOnSplit(plan, transition, step.axis, split_later));
      (derived ? fold.derived : fold.unfolded).push_back({tensor.name, reason});
    }
  }
}

void FoldRecomputation(const Plan& plan, const Roles& roles, Fold& fold) {
  std::vector<std::map<int, Seen>> stacks;  // in the order of fold.stacks
  std::set<OpId> products;
  for (const Roles::Parameter& parameter : roles.parameters) {
    if (plan.graph.tensor(parameter.id).type.rank() < 2) continue;
    for (const Use& use : parameter.uses) products.insert(use.op);
  }
  const NameIndex index(plan.graph);
  for (size_t i = 0; i < plan.graph.ops.size(); ++i) {
    const Op& op = plan.graph.ops[i];
    const bool again = IsAgain(plan.graph, op);
    if (!again && !IsForward(plan.graph, op)) continue;
    std::string_view scope = plan.graph.scope_of(op);
    if (again) scope.remove_prefix(std::min(scope.size(), kAgainScope.size() + 1));
    const int layer = LayerOfPath(scope);
    if (layer < 0) continue;
    const std::string path = StackOfPath(scope);
    const auto stack = static_cast<size_t>(std::ranges::find(fold.stacks, path) - fold.stacks.begin());
    if (stack == fold.stacks.size()) {
      fold.stacks.push_back(path);
      stacks.emplace_back();
    }
    Seen& seen = stacks[stack][layer];
    const bool is_product = products.contains(OpId(i));
    if (!again) {
      seen.products += is_product ? 1 : 0;
      continue;
    }
    const OpId first = index.op(WithoutAgain(op.name));
    seen.again += 1;
    seen.again_products += is_product || (first.valid() && products.contains(first)) ? 1 : 0;
    const std::string& type = plan.graph.type_of(op);
    seen.attention = seen.attention || type.find("Attention") != std::string::npos || type == "Softmax";
  }
  size_t count = 0;
  for (const auto& layers : stacks) count += static_cast<size_t>(layers.rbegin()->first) + 1;
  if (count > plan.graph.ops.size()) {  // numbers that count no layers
    fold.stacks.clear();
    return;
  }
  for (size_t s = 0; s < stacks.size(); ++s) {
    const int last = stacks[s].rbegin()->first;
    for (int layer = 0; layer <= last; ++layer) {
      const auto found = stacks[s].find(layer);
      fold.layers.push_back(found == stacks[s].end() ? Recomputation::kNone : RecomputationOf(found->second));
      fold.layer_paths.push_back(StrCat(fold.stacks[s], fold.stacks[s].empty() ? "" : ".", layer));
    }
  }
}

}  // namespace sbp
