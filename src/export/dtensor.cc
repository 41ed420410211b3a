// dtensor: a program that runs the plan's torch.export graph on DTensors, and a table of layouts by names of its nodes.
#include "export/dtensor.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "export/exporter.h"
#include "graph/graph.h"
#include "graph/simplified.h"
#include "graph/tensor_type.h"
#include "plan/plan.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "sbp/signature.h"

namespace sbp {
namespace {

using Json = nlohmann::ordered_json;

bool IsTorchExport(const Graph& graph) {
  for (const auto& [name, value] : graph.metadata) {
    if (name == "producer_name" && value == "torch.export") return true;
  }
  return false;
}

Json LayoutJson(const NdSbp& layout) {
  Json words = Json::array();
  for (int axis = 0; axis < layout.size(); ++axis) words.push_back(ToString(layout[axis]));
  return words;
}

// Are all parts of one size?
bool IsEven(const TensorType& type, const NdSbp& layout, const Mesh& mesh) {
  if (!type.is_static()) return true;
  Shape shape = type.shape;
  for (int axis = 0; axis < layout.size(); ++axis) {
    if (!layout[axis].is_split() || layout[axis].dim() >= static_cast<int>(shape.size())) continue;
    int64_t& size = shape[static_cast<size_t>(layout[axis].dim())];
    if (size % mesh.size(axis) != 0) return false;
    size /= mesh.size(axis);
  }
  return true;
}

// Of an op of several that one node became, "layer_norm/Sqrt", the node's name.
std::string NodeOf(const Op& op) { return op.name.substr(0, op.name.find('/')); }

// What the ops of each node read in which layout. Where they read one tensor in several, the first is kept.
Json ReadsJson(const Plan& plan, std::vector<std::string>* report) {
  Json reads = Json::object();
  for (size_t i = 0; i < plan.graph.ops.size(); ++i) {
    const Op& op = plan.graph.ops[i];
    const Signature& signature = plan.records[plan.op_records[i]].signature;
    Json& node = reads[NodeOf(op)];
    if (node.is_null()) node = Json::object();
    for (size_t k = 0; k < op.inputs.size() && k < signature.inputs.size(); ++k) {
      if (!op.inputs[k].valid()) continue;
      const std::string& tensor = plan.graph.tensors[op.inputs[k].index()].name;
      Json layout = LayoutJson(signature.inputs[k]);
      if (!node.contains(tensor)) {
        node[tensor] = std::move(layout);
      } else if (node[tensor] != layout) {
        report->push_back(StrCat(NodeOf(op), " reads ", tensor, " in several layouts; the table keeps the first, ",
                                 node[tensor].dump(), ", and not ", layout.dump()));
      }
    }
  }
  return reads;
}

// What the table cannot hold, or DTensor lays out otherwise.
void Report(const Plan& plan, std::vector<std::string>& report) {
  for (const Transition& transition : plan.transitions) {
    const std::string& tensor = plan.graph.tensors[transition.tensor.index()].name;
    if (tensor.find('/') == std::string::npos) continue;
    report.push_back(StrCat(tensor, " goes from ", ToString(transition.from), " to ", ToString(transition.to),
                            " inside a node of the model, where DTensor chooses what to send"));
  }
  const auto is_rewritten = [](const Op& op) {
    return std::ranges::any_of(op.metadata, [](const auto& entry) { return entry.first == kSimplifiedFrom; });
  };
  if (const auto count = std::ranges::count_if(plan.graph.ops, is_rewritten); count > 0) {
    report.push_back(StrCat(count, count == 1 ? " op was" : " ops were",
                            " rewritten and stand under other names than the model's nodes, which lie as DTensor has "
                            "them: plan with --no-simplify"));
  }
  int64_t uneven = 0;
  std::string first;
  for (size_t t = 0; t < plan.graph.tensors.size(); ++t) {
    const Tensor& tensor = plan.graph.tensors[t];
    if (IsEven(tensor.type, plan.source_layouts[t], plan.mesh)) continue;
    if (uneven++ == 0) first = StrCat(Quote(tensor.name), " ", ToString(plan.source_layouts[t]));
  }
  if (uneven > 0) {
    report.push_back(StrCat(uneven, uneven == 1 ? " tensor is" : " tensors are", " split unevenly, first ", first,
                            ": DTensor's parts have other sizes, as torch.chunk makes them"));
  }
}

Result<PlanExport> WriteProgram(const Plan& plan, const ExportOptions&) {
  if (!IsTorchExport(plan.graph)) {
    return BadInput(StrCat("the plan is of ", plan.model_path.empty() ? "no model file" : plan.model_path,
                           ", and DTensors run plans of what torch.export.save wrote (.pt2)"));
  }
  PlanExport made;
  Json table = {
      {"model_fingerprint", plan.model_fingerprint}, {"mesh_axes", Json::array()}, {"mesh_shape", Json::array()}};
  for (const MeshAxis& axis : plan.mesh.axes) {
    table["mesh_axes"].push_back(axis.name);
    table["mesh_shape"].push_back(axis.size);
  }
  Json& tensors = table["tensors"] = Json::object();
  for (size_t i = 0; i < plan.graph.tensors.size(); ++i)
    tensors[plan.graph.tensors[i].name] = LayoutJson(plan.source_layouts[i]);
  table["reads"] = ReadsJson(plan, &made.report);
  Report(plan, made.report);
  made.files.push_back({"apply_plan.py", std::string(ApplyPlanText())});
  made.files.push_back({"plan_table.json", table.dump(1) + "\n"});
  made.report.push_back(
      "where DTensor refuses or writes another layout than the plan's, the program goes on with one of the same "
      "result, whose collectives may differ, and lists it under `differences` when it runs");
  return made;
}

}  // namespace

ExporterRow DtensorExporter() {
  return {.name = "dtensor",
          .doc = "Python that runs the plan's .pt2 model on PyTorch's DTensors, with a table of layouts",
          .extension = "",
          .write_plan = WriteProgram};
}

}  // namespace sbp
