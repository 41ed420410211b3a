#include "recipe/roles.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "grad/trainable.h"
#include "graph/families.h"
#include "graph/graph.h"
#include "graph/phases.h"
#include "graph/tensor_type.h"
#include "plan/pins.h"
#include "problem/classes.h"
#include "rule/factor_map.h"
#include "rule/infer.h"
#include "rule/op_query.h"
#include "rule/rule_set.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

bool Carries(const DimFactors& dim, FactorId f) { return std::ranges::find(dim, f) != dim.end(); }

// The dimension that carries the factor; -1: none.
int DimOf(const TensorFactors& tensor, FactorId f) {
  for (size_t d = 0; d < tensor.size(); ++d) {
    if (Carries(tensor[d], f)) return static_cast<int>(d);
  }
  return -1;
}

// The dimension of the first operand that the op looks up in, whose factor its rule masks; -1: none.
int LookedUpDim(const RuleInstance& instance) {
  if (instance.map.operands.empty()) return -1;
  const TensorFactors& dims = instance.map.operands[0];
  for (size_t d = 0; d < dims.size(); ++d) {
    if (std::ranges::any_of(dims[d], [&](FactorId f) { return instance.map.factors[f].masked; })) {
      return static_cast<int>(d);
    }
  }
  return -1;
}

// What hands a parameter on.
std::unordered_map<TensorId, size_t> FindCopies(const Graph& graph, const std::vector<Roles::Parameter>& parameters) {
  std::unordered_map<TensorId, size_t> of;
  for (size_t p = 0; p < parameters.size(); ++p) of.emplace(parameters[p].id, p);
  for (const Op& op : graph.ops) {
    if (!HandsOn(graph, op)) continue;
    const auto found = of.find(op.inputs[0]);
    if (found != of.end() && PhaseOf(graph, op) != Phase::kOptimizer) of.emplace(op.outputs[0], found->second);
  }
  return of;
}

void AddFamilies(const Graph& graph, Roles& roles) {
  std::vector<TensorId> parameters;
  for (const Roles::Parameter& parameter : roles.parameters) parameters.push_back(parameter.id);
  const std::vector<ParameterFamily> families = FindFamilies(graph, parameters);
  const UseTable uses = BuildUses(graph);
  for (size_t p = 0; p < families.size(); ++p) {
    roles.parameters[p].gradient = families[p].gradient;
    roles.parameters[p].accumulator = families[p].accumulator;
    roles.parameters[p].states = families[p].states;
    roles.parameters[p].is_master = IsMaster(graph, uses, families[p].parameter);
  }
}

// A weight that lies (to, from) is turned for its product: which dimension of it each one of the turned one is.
struct TurnedWeight {
  size_t parameter = 0;
  std::vector<int64_t> order;
};
std::unordered_map<TensorId, TurnedWeight> FindTurned(const Graph& graph,
                                                      const std::unordered_map<TensorId, size_t>& copies,
                                                      bool of_both_passes) {
  std::unordered_map<TensorId, TurnedWeight> turned;
  for (const Op& op : graph.ops) {
    const Phase phase = PhaseOf(graph, op);
    const bool counts = phase == Phase::kForward || (of_both_passes && phase != Phase::kOptimizer);
    if (graph.type_of(op) != "Transpose" || !counts) continue;
    const auto copy = copies.find(op.inputs[0]);
    if (copy == copies.end()) continue;
    const auto rank = static_cast<int64_t>(graph.tensor(op.inputs[0]).type.shape.size());
    std::vector<int64_t> order;
    for (int64_t d = rank; d-- > 0;) order.push_back(d);  // without `perm`, as linear layers of .pt2 have it
    if (const std::vector<int64_t>* given = op.attributes->Ints("perm")) order = *given;
    if (static_cast<int64_t>(order.size()) == rank) turned.emplace(op.outputs[0], TurnedWeight{copy->second, order});
  }
  return turned;
}

// Walks the forward pass with the layouts that tensor parallelism gives tensors over one axis.
class TensorWalk {
 public:
  TensorWalk(const Graph& graph, const RuleSet& rules, int64_t ranks, Roles& roles,
             const std::unordered_map<TensorId, size_t>& copies)
      : graph_(graph),
        rules_(rules),
        roles_(roles),
        copies_(copies),
        turned_(FindTurned(graph, copies, false)),
        layouts_(graph.tensors.size(), NdSbp(1)) {
    mesh_.axes.push_back({"x", ranks});
  }

  Status Run() {
    const OpClasses classes = ClassifyOps(graph_, rules_);
    std::vector<RuleInstanceRef> instances(classes.first.size());
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      if (PhaseOf(graph_, op) != Phase::kForward) continue;
      RuleInstanceRef& instance = instances[classes.class_of[i]];
      if (instance == nullptr) {
        SBP_ASSIGN_OR_RETURN(instance, rules_.Instantiate(QueryFor(graph_, rules_, op)));
      }
      Visit(OpId(i), instance);
    }
    return OkStatus();
  }

  // What is added to a sum in parts may be whole, or on one device alone: no recipe says.
  bool is_free(OpId op, uint32_t operand) const { return free_uses_.contains(UseKey(op, operand)); }

 private:
  void Visit(OpId id, const RuleInstanceRef& instance) {
    const Op& op = graph_.op(id);
    const std::vector<TensorId> operands = graph_.OperandsOf(op);
    for (size_t i = 0; i < operands.size() && i < 2 && instance->contraction; ++i) {
      const auto weight = operands[i].valid() ? copies_.find(operands[i]) : copies_.end();
      const auto turned = operands[i].valid() ? turned_.find(operands[i]) : turned_.end();
      const bool is_weight = weight != copies_.end() || turned != turned_.end();
      if (!is_weight || graph_.tensor(operands[i]).type.rank() < 2) continue;
      const size_t parameter = weight != copies_.end() ? weight->second : turned->second.parameter;
      Multiply(id, *instance, operands, i, roles_.parameters[parameter]);
      return;
    }
    const auto table = !operands.empty() && operands[0].valid() ? copies_.find(operands[0]) : copies_.end();
    if (const int dim = LookedUpDim(*instance); table != copies_.end() && dim >= 0) {
      SetDim(roles_.parameters[table->second], dim);
      return;  // what is looked up is whole
    }
    Follow(op, instance, operands);
  }

  // Dimension d of a weight, or of a turned one, is which of the parameter?
  int OwnDim(TensorId weight, int d) const {
    const auto turned = turned_.find(weight);
    return turned == turned_.end() ? d : static_cast<int>(turned->second.order[static_cast<size_t>(d)]);
  }

  void SetDim(Roles::Parameter& parameter, int dim) const {
    if (parameter.tensor_dim >= 0 || graph_.tensor(parameter.id).type.shape[dim] < mesh_.size(0)) return;
    parameter.tensor_dim = dim;
  }

  // By columns where the other operand is whole, by rows where it is split along what is summed.
  void Multiply(OpId id, const RuleInstance& instance, const std::vector<TensorId>& operands, size_t weight,
                Roles::Parameter& parameter) {
    const Op& op = graph_.op(id);
    const TensorFactors& dims = instance.map.operands[weight];
    const size_t other = weight == 0 ? 1 : 0;
    const TensorFactors none;
    const bool has_other = other < operands.size() && operands[other].valid();
    const TensorFactors& data = has_other ? instance.map.operands[other] : none;
    const TensorFactors& result = instance.map.results[0];
    // Of a batched product, or one that looks its rows' experts up. Not a grouped convolution, whose first dimension
    // holds the groups and their channels.
    const bool stacked = dims.size() >= 3 && dims[0].size() == 1;
    const bool batched = stacked && DimOf(data, dims[0][0]) >= 0 && DimOf(result, dims[0][0]) >= 0;
    if (batched || (stacked && instance.map.factors[dims[0][0]].masked)) parameter.expert_dim = 0;
    const Sbp given = has_other ? layouts_[operands[other].index()][0] : Sbp::Broadcast();
    if (given.is_split() && static_cast<size_t>(given.dim()) < data.size() && !data[given.dim()].empty()) {
      const FactorId f = data[given.dim()][0];
      if (const int dim = DimOf(dims, f); dim >= 0 && DimOf(result, f) < 0) {
        SetDim(parameter, OwnDim(operands[weight], dim));
        for (const int addend : instance.map.addends) free_uses_.insert(UseKey(id, static_cast<uint32_t>(addend)));
      }
      return;
    }
    for (size_t d = dims.size(); d-- > 0;) {
      if (dims[d].empty() || instance.map.factors[dims[d][0]].whole) continue;
      const int to = DimOf(result, dims[d][0]);
      if (to < 0 || DimOf(data, dims[d][0]) >= 0) continue;
      const int own = OwnDim(operands[weight], static_cast<int>(d));
      SetDim(parameter, own);
      if (parameter.tensor_dim == own && op.outputs[0].valid()) {
        layouts_[op.outputs[0].index()][0] = Sbp::Split(to);
        SplitAlong(dims[d][0], instance.map, operands);
      }
      return;
    }
  }

  // What the same op adds: a bias goes with the columns.
  void SplitAlong(FactorId f, const FactorMap& map, const std::vector<TensorId>& operands) const {
    for (size_t i = 2; i < operands.size() && i < map.operands.size(); ++i) {
      const auto bias = operands[i].valid() ? copies_.find(operands[i]) : copies_.end();
      const int dim = bias == copies_.end() ? -1 : DimOf(map.operands[i], f);
      if (dim >= 0) SetDim(roles_.parameters[bias->second], dim);
    }
  }

  // Everything else hands layouts on, as its factors say.
  void Follow(const Op& op, const RuleInstanceRef& instance, const std::vector<TensorId>& operands) {
    InferRequest request{.instance = instance, .mesh = mesh_, .inputs = {}, .outputs = {}};
    bool any = false;
    for (const TensorId id : operands) {
      request.inputs.push_back(id.valid() ? layouts_[id.index()] : NdSbp(1));
      any = any || request.inputs.back()[0].is_split();
    }
    if (!any) return;
    const InferAnswer answer = InferLayouts(request);
    for (size_t i = 0; i < operands.size(); ++i) {
      const auto parameter = operands[i].valid() ? copies_.find(operands[i]) : copies_.end();
      if (parameter != copies_.end() && answer.inputs[i][0].is_split()) {
        SetDim(roles_.parameters[parameter->second], answer.inputs[i][0].dim());
      }
    }
    for (size_t r = 0; r < op.outputs.size() && r < answer.outputs.size(); ++r) {
      if (op.outputs[r].valid() && answer.outputs[r][0].is_split()) layouts_[op.outputs[r].index()] = answer.outputs[r];
    }
  }

  const Graph& graph_;
  const RuleSet& rules_;
  Roles& roles_;
  const std::unordered_map<TensorId, size_t>& copies_;
  std::unordered_map<TensorId, TurnedWeight> turned_;
  std::vector<NdSbp> layouts_;  // per tensor, over the one axis
  Mesh mesh_;
  std::unordered_set<uint64_t> free_uses_;  // UseKey
};

void FindParameters(const Graph& graph, const RuleSet& rules, Roles& roles) {
  std::vector<bool> updated(graph.tensors.size(), false);
  bool any = false;
  for (const Tie& tie : graph.ties) {
    if (graph.tensor(tie.input).role == TensorRole::kParameter) any = updated[tie.input.index()] = true;
  }
  if (!any) updated = FindTrainable(graph, rules);
  for (size_t t = 0; t < updated.size(); ++t) {
    if (updated[t]) roles.parameters.push_back({.id = TensorId(t)});
  }
}

void FindData(const Graph& graph, Roles& roles) {
  std::vector<bool> state(graph.tensors.size(), false);
  for (const Tie& tie : graph.ties) state[tie.input.index()] = true;
  for (const TensorId id : graph.inputs) {
    const TensorType& type = graph.tensor(id).type;
    if (!state[id.index()] && type.kind == ValueKind::kTensor && type.rank() > 0) roles.batch.push_back(id);
  }
  for (const Op& op : graph.ops) {
    if (graph.type_of(op) != "Add" || PhaseOf(graph, op) != Phase::kForward || op.inputs.size() != 2) continue;
    const Tensor &a = graph.tensor(op.inputs[0]), &b = graph.tensor(op.inputs[1]);
    const bool sums = a.role == TensorRole::kActivation && b.role == TensorRole::kActivation && a.type == b.type;
    if (sums && a.type.rank() >= 3 && IsFloat(a.type.dtype)) roles.residual.push_back(op.outputs[0]);
  }
}

}  // namespace

Result<Roles> FindRoles(const Graph& graph, const RuleSet& rules, int64_t ranks) {
  Roles roles;
  FindParameters(graph, rules, roles);
  FindData(graph, roles);
  AddFamilies(graph, roles);
  const std::unordered_map<TensorId, size_t> copies = FindCopies(graph, roles.parameters);
  TensorWalk walk(graph, rules, ranks, roles, copies);
  SBP_RETURN_IF_ERROR(walk.Run());
  const std::unordered_map<TensorId, TurnedWeight> turned = FindTurned(graph, copies, true);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    if (PhaseOf(graph, op) == Phase::kOptimizer) continue;
    if (graph.type_of(op) == kRefetchOp) {
      const auto parameter = copies.find(op.outputs[0]);
      if (parameter != copies.end()) roles.parameters[parameter->second].refetched.push_back(op.outputs[0]);
    }
    for (size_t k = 0; k < op.inputs.size(); ++k) {
      const auto behind = op.inputs[k].valid() ? turned.find(op.inputs[k]) : turned.end();
      if (behind != turned.end() && !walk.is_free(OpId(i), static_cast<uint32_t>(k))) {
        roles.parameters[behind->second.parameter].turned.push_back(
            {{OpId(i), static_cast<uint32_t>(k)}, behind->second.order});
      }
      const auto found = op.inputs[k].valid() ? copies.find(op.inputs[k]) : copies.end();
      const bool hands_on = !op.outputs.empty() && op.outputs[0].valid() && copies.contains(op.outputs[0]);
      if (found == copies.end() || hands_on || walk.is_free(OpId(i), static_cast<uint32_t>(k))) continue;
      roles.parameters[found->second].uses.push_back({OpId(i), static_cast<uint32_t>(k)});
    }
  }
  return roles;
}

}  // namespace sbp
