#include "check/structure.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "boxing/boxing.h"
#include "check/subgraphs.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "plan/plan.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "sbp/signature.h"

namespace sbp {
namespace {

bool CheckMesh(const Mesh& mesh, Findings& findings) {
  if (mesh.num_axes() < 1 || mesh.num_axes() > kMaxMeshAxes) {
    findings.Add("mesh", "number of axes", StrCat("1 to ", kMaxMeshAxes), StrCat(mesh.num_axes()));
    return false;
  }
  int64_t devices = 1;
  for (const MeshAxis& axis : mesh.axes) {
    if (axis.size < 1 || axis.size > (int64_t{1} << 31) / devices) {
      findings.Add("mesh", StrCat("size of axis ", Quote(axis.name)), "at least 1, at most 2^31 devices in all",
                   StrCat(axis.size));
      return false;
    }
    devices *= axis.size;
  }
  if (mesh.ranks.empty()) return true;
  const std::set<int64_t> distinct(mesh.ranks.begin(), mesh.ranks.end());
  if (static_cast<int64_t>(mesh.ranks.size()) == devices && static_cast<int64_t>(distinct.size()) == devices)
    return true;
  findings.Add("mesh", "ranks", StrCat(devices, " distinct ranks"),
               StrCat(mesh.ranks.size(), " ranks, ", distinct.size(), " distinct"));
  return false;
}

void CheckLayout(const Plan& plan, const NdSbp& layout, TensorId tensor, const std::string& where, Findings& findings) {
  if (layout.size() != plan.mesh.num_axes()) {
    findings.Add(where, "layout has another number of axes than the mesh", StrCat(plan.mesh.num_axes()),
                 ToString(layout));
    return;
  }
  const TensorType& type = plan.graph.tensor(tensor).type;
  // Over an axis of one device every layout is the whole tensor.
  if (plan.mesh.num_devices() == 1) return;
  const Status status = ValidateLayout(type.shape, layout, plan.mesh, plan.options.even_only);
  if (!status.ok()) findings.Add(where, "layout is not possible", status.message(), ToString(layout));
}

void CheckOps(const Plan& plan, Findings& findings) {
  const Graph& graph = plan.graph;
  if (plan.op_records.size() != graph.ops.size()) {
    findings.Add("plan", "number of decisions", StrCat(graph.ops.size(), ", one an op"),
                 StrCat(plan.op_records.size()));
    return;
  }
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    const std::string where = PlaceOf(graph, OpId(o));
    if (plan.op_records[o] >= plan.records.size()) {
      findings.Add(where, "record is out of range", StrCat("below ", plan.records.size()), StrCat(plan.op_records[o]));
      continue;
    }
    const Signature& signature = plan.records[plan.op_records[o]].signature;
    const std::vector<TensorId> operands = graph.OperandsOf(graph.ops[o]);
    const std::vector<TensorId>& results = graph.ops[o].outputs;
    if (signature.inputs.size() != operands.size() || signature.outputs.size() != results.size()) {
      findings.Add(where, "signature has another number of tensors",
                   StrCat(operands.size(), " operands, ", results.size(), " results"), ToString(signature));
      continue;
    }
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].valid())
        CheckLayout(plan, signature.inputs[i], operands[i], StrCat(where, ", operand ", i), findings);
    }
    for (size_t r = 0; r < results.size(); ++r) {
      if (results[r].valid())
        CheckLayout(plan, signature.outputs[r], results[r], StrCat(where, ", result ", r), findings);
    }
  }
}

void CheckTensors(const Plan& plan, Findings& findings) {
  const Graph& graph = plan.graph;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const TensorType& type = graph.tensors[t].type;
    if (type.kind == ValueKind::kTensor && !type.is_static()) {
      findings.Add(PlaceOf(graph, TensorId(t)), "shape is not known", "a size for every dimension", ToString(type));
    }
  }
  if (plan.source_layouts.size() != graph.tensors.size()) {
    findings.Add("plan", "number of tensor layouts", StrCat(graph.tensors.size()), StrCat(plan.source_layouts.size()));
    return;
  }
  if (!findings.empty()) return;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    CheckLayout(plan, plan.source_layouts[t], TensorId(t), PlaceOf(graph, TensorId(t)), findings);
  }
}

// Behind the op that writes the tensor.
void CheckAhead(const Graph& graph, const Transition& transition, const std::string& where, Findings& findings) {
  if (!transition.ahead_of.valid()) return;
  const OpId producer = graph.tensor(transition.tensor).producer;
  const uint32_t least = producer.valid() ? producer.value + 1 : 0, found = transition.ahead_of.value;
  if (graph.micro_batches > 1) {
    findings.Add(where, "is sent ahead", "no such transition in a step of several micro-batches", StrCat("op ", found));
  } else if (found < least || found >= graph.ops.size()) {
    findings.Add(where, "is sent ahead of an op", StrCat("from ", least, " to below ", graph.ops.size()),
                 StrCat(found));
  }
}

void CheckTransitions(const Plan& plan, Findings& findings) {
  const Graph& graph = plan.graph;
  for (size_t i = 0; i < plan.transitions.size(); ++i) {
    const Transition& transition = plan.transitions[i];
    const std::string where = StrCat("transition ", i);
    if (!transition.tensor.valid() || transition.tensor.index() >= graph.tensors.size()) {
      findings.Add(where, "tensor is out of range", StrCat("below ", graph.tensors.size()),
                   StrCat(transition.tensor.value));
      continue;
    }
    CheckLayout(plan, transition.from, transition.tensor, where, findings);
    CheckLayout(plan, transition.to, transition.tensor, where, findings);
    for (const BoxingStep& step : transition.steps) {
      if (step.axis < 0 || step.axis >= plan.mesh.num_axes()) {
        findings.Add(where, "mesh axis is out of range", StrCat("below ", plan.mesh.num_axes()), StrCat(step.axis));
      }
      CheckLayout(plan, step.from, transition.tensor, where, findings);
      CheckLayout(plan, step.to, transition.tensor, where, findings);
    }
    for (const Use& use : transition.consumers) {
      if (!use.op.valid() || use.op.index() >= graph.ops.size()) {
        findings.Add(where, "reader is out of range", StrCat("below ", graph.ops.size()), StrCat(use.op.value));
      }
    }
    CheckAhead(graph, transition, where, findings);
  }
}

}  // namespace

void CheckStructure(const Plan& plan, Findings& findings) {
  if (const Status status = Verify(plan.graph, "plan"); !status.ok()) {
    findings.Add("graph", "is not sound", "a verified graph", status.message());
    return;
  }
  if (const Status status = Verify(plan.cluster, "plan"); !status.ok()) {
    findings.Add("cluster", "is not sound", "a verified cluster", status.message());
    return;
  }
  if (!CheckMesh(plan.mesh, findings)) return;
  CheckTensors(plan, findings);
  CheckSubgraphs(plan.graph, findings);
  if (!findings.empty()) return;
  CheckOps(plan, findings);
  CheckTransitions(plan, findings);
  for (const ReplicatedTensor& replicated : plan.replicated) {
    if (!replicated.tensor.valid() || replicated.tensor.index() >= plan.graph.tensors.size()) {
      findings.Add("list of replicated tensors", "tensor is out of range", StrCat("below ", plan.graph.tensors.size()),
                   StrCat(replicated.tensor.value));
      continue;
    }
    if (replicated.tensor.index() >= plan.source_layouts.size()) continue;  // found above
    const NdSbp& layout = plan.source_layouts[replicated.tensor.index()];
    if (std::ranges::all_of(layout, [](Sbp sbp) { return sbp.is_broadcast(); })) continue;
    findings.Add("list of replicated tensors", StrCat(PlaceOf(plan.graph, replicated.tensor), " is not replicated"),
                 "B over every axis", ToString(layout));
  }
}

}  // namespace sbp
