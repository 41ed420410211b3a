#include "onnx/upgrade.h"

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/dtype.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "onnx/upgrade_old.h"
#include "onnx/upgrade_scan.h"

namespace sbp::onnx {
namespace {

using Nodes = std::vector<NodeForm>;

// What an upgrade writes to; `node` may be changed in place, `before` holds nodes to run before it.
struct Step {
  NodeForm& node;
  UpgradeSite& site;
  Nodes before;
};

std::string Hint(const NodeForm& node, std::string_view what) {
  return StrCat(node.outputs.empty() ? node.name : node.outputs.front(), "/", what);
}

void SetInput(NodeForm& node, size_t index, std::string tensor) {
  if (node.inputs.size() <= index) node.inputs.resize(index + 1);
  node.inputs[index] = std::move(tensor);
}

bool HasInput(const NodeForm& node, size_t index) { return index < node.inputs.size() && !node.inputs[index].empty(); }

// Turns an attribute of integers into input `index`; nothing when the attribute is absent.
void IntsToInput(Step& step, std::string_view attribute, size_t index) {
  const std::vector<int64_t>* values = step.node.attributes.Ints(attribute);
  if (values == nullptr) return;
  SetInput(step.node, index, step.site.AddConstant(Hint(step.node, attribute), Literal::Ints(*values)));
  EraseAttribute(step.node, attribute);
}

// Turns a float attribute into a scalar input of the type of operand 0.
void FloatToInput(Step& step, std::string_view attribute, size_t index) {
  if (step.node.attributes.Find(attribute) == nullptr) return;
  DType dtype = step.node.inputs.empty() ? DType::kUndefined : step.site.TypeOf(step.node.inputs[0]);
  if (!IsFloat(dtype)) dtype = DType::kF32;
  const double value = step.node.attributes.Float(attribute, 0);
  SetInput(step.node, index, step.site.AddConstant(Hint(step.node, attribute), Literal::Float(value, dtype)));
  EraseAttribute(step.node, attribute);
}

Status AxesToInput(Step& step) {
  IntsToInput(step, "axes", 1);
  return OkStatus();
}

// Before 13, dimensions from `axis` on were flattened to one (default axis 1).
Status Flattening(Step& step) {
  const int64_t axis = step.node.attributes.Int("axis", 1);
  step.node.attributes.Set("axis", axis);
  if (axis != -1) step.node.attributes.Set(std::string(kFlattenFrom), axis);
  return OkStatus();
}

Status SplitToInput(Step& step) {
  IntsToInput(step, "split", 1);
  if (!HasInput(step.node, 1)) step.node.attributes.Set("num_outputs", static_cast<int64_t>(step.node.outputs.size()));
  return OkStatus();
}

Status SplitCount(Step& step) {
  if (!HasInput(step.node, 1)) step.node.attributes.Set("num_outputs", static_cast<int64_t>(step.node.outputs.size()));
  return OkStatus();
}

Status SliceToInputs(Step& step) {
  IntsToInput(step, "starts", 1);
  IntsToInput(step, "ends", 2);
  IntsToInput(step, "axes", 3);
  if (!HasInput(step.node, 1) || !HasInput(step.node, 2)) return BadInput("Slice without starts and ends");
  return OkStatus();
}

Status ClipToInputs(Step& step) {
  FloatToInput(step, "min", 1);
  FloatToInput(step, "max", 2);
  return OkStatus();
}

Status PadToInputs(Step& step) {
  IntsToInput(step, "pads", 1);
  FloatToInput(step, "value", 2);
  if (!HasInput(step.node, 1)) return BadInput("Pad without pads");
  return OkStatus();
}

Status DropoutToInputs(Step& step) {
  FloatToInput(step, "ratio", 1);  // before 12 Dropout was for inference only: training_mode stays absent
  return OkStatus();
}

Status TopKToInput(Step& step) {
  if (step.node.attributes.Find("k") == nullptr) return BadInput("TopK without k");
  const int64_t k = step.node.attributes.Int("k", 0);
  SetInput(step.node, 1, step.site.AddConstant(Hint(step.node, "k"), Literal::Ints({k})));
  EraseAttribute(step.node, "k");
  return OkStatus();
}

// Upsample, and Resize before 11: one input of scales; pixels map without a half-pixel shift.
Status ToResize(Step& step) {
  NodeForm& node = step.node;
  if (const auto* scales = node.attributes.Find("scales"); scales != nullptr) {
    const auto* values = std::get_if<std::vector<double>>(scales);
    if (values == nullptr) return BadInput("scales must be floats");
    Literal literal;
    literal.type = TensorType{DType::kF32, {static_cast<int64_t>(values->size())}};
    literal.floats = *values;
    SetInput(node, 1, step.site.AddConstant(Hint(node, "scales"), std::move(literal)));
    EraseAttribute(node, "scales");
  }
  if (!HasInput(node, 1)) return BadInput("Resize without scales");
  node.type = "Resize";
  node.inputs = {node.inputs[0], "", node.inputs[1]};
  if (node.attributes.String("mode", "nearest") == "bilinear") node.attributes.Set("mode", std::string("linear"));
  node.attributes.Set("coordinate_transformation_mode", std::string("asymmetric"));
  node.attributes.Set("nearest_mode", std::string("floor"));
  return OkStatus();
}

// Before 13 an empty tensor stood for "not given".
Status EmptyResizeInputs(Step& step) {
  for (std::string& input : step.node.inputs) {
    const LiteralRef value = input.empty() ? nullptr : step.site.ValueOf(input);
    if (value != nullptr && value->type.num_elements() == 0) input.clear();
  }
  return OkStatus();
}

// Before 14 there were up to four more results (running and saved statistics), present only in training.
Status BatchNormalizationTraining(Step& step) {
  NodeForm& node = step.node;
  bool training = false;
  for (size_t i = 1; i < node.outputs.size(); ++i) training = training || !node.outputs[i].empty();
  if (training) node.attributes.Set("training_mode", int64_t{1});
  return OkStatus();
}

Status RenameScatter(Step& step) {
  step.node.type = "ScatterElements";
  return OkStatus();
}

Status RoiAlignHalfPixel(Step& step) {
  if (step.node.attributes.Find("coordinate_transformation_mode") == nullptr) {
    step.node.attributes.Set("coordinate_transformation_mode", std::string("output_half_pixel"));
  }
  return OkStatus();
}

Status GridSampleModes(Step& step) {
  const std::string mode = step.node.attributes.String("mode", "bilinear");
  if (mode == "bilinear") step.node.attributes.Set("mode", std::string("linear"));
  if (mode == "bicubic") step.node.attributes.Set("mode", std::string("cubic"));
  return OkStatus();
}

Status DftAxisToInput(Step& step) {
  const int64_t axis = step.node.attributes.Int("axis", 1);
  SetInput(step.node, 2, step.site.AddConstant(Hint(step.node, "axis"), Literal::Scalar(axis)));
  EraseAttribute(step.node, "axis");
  return OkStatus();
}

NodeForm MakeNode(std::string type, std::vector<std::string> inputs, std::string output, const NodeForm& like) {
  NodeForm node;
  node.type = std::move(type);
  node.inputs = std::move(inputs);
  node.name = output;
  node.outputs = {std::move(output)};
  node.scope = like.scope;
  return node;
}

// In 18 scale and bias had one entry a group; from 21 on one a channel: each entry is repeated channels / groups times.
Status GroupNormalizationPerChannel(Step& step) {
  NodeForm& node = step.node;
  const int64_t groups = node.attributes.Int("num_groups", 0);
  if (groups <= 0 || node.inputs.size() < 3) return BadInput("GroupNormalization needs num_groups, scale and bias");
  UpgradeSite& site = step.site;
  const std::string group_count = site.AddConstant(Hint(node, "groups"), Literal::Ints({groups}));
  const std::string channels = site.NewName(Hint(node, "channels"));
  const std::string repeats = site.NewName(Hint(node, "repeats"));
  const std::string target = site.NewName(Hint(node, "expanded_shape"));
  NodeForm shape = MakeNode("Shape", {node.inputs[0]}, channels, node);
  shape.attributes.Set("start", int64_t{1});
  shape.attributes.Set("end", int64_t{2});
  step.before.push_back(std::move(shape));
  step.before.push_back(MakeNode("Div", {channels, group_count}, repeats, node));
  NodeForm concat = MakeNode("Concat", {group_count, repeats}, target, node);
  concat.attributes.Set("axis", int64_t{0});
  step.before.push_back(std::move(concat));
  const std::string last_axis = site.AddConstant(Hint(node, "axes"), Literal::Ints({1}));
  const std::string flat = site.AddConstant(Hint(node, "flat"), Literal::Ints({-1}));
  for (size_t operand : {size_t{1}, size_t{2}}) {
    const std::string_view what = operand == 1 ? "scale" : "bias";
    const std::string column = site.NewName(Hint(node, StrCat(what, "_column")));
    const std::string expanded = site.NewName(Hint(node, StrCat(what, "_expanded")));
    const std::string per_channel = site.NewName(Hint(node, StrCat(what, "_per_channel")));
    step.before.push_back(MakeNode("Unsqueeze", {node.inputs[operand], last_axis}, column, node));
    step.before.push_back(MakeNode("Expand", {column, target}, expanded, node));
    step.before.push_back(MakeNode("Reshape", {expanded, flat}, per_channel, node));
    node.inputs[operand] = per_channel;
  }
  return OkStatus();
}

Status BatchedScan(Step& step) { return NestBatchedScan(step.node); }

// One row per op and range of versions: forms of opsets below `below` (and not below the row above of the same op).
struct Row {
  std::string_view op;
  int64_t below;
  Status (*upgrade)(Step& step);
};
constexpr Row kUpgrades[] = {
    {"BatchNormalization", 14, BatchNormalizationTraining},
    {"Clip", 11, ClipToInputs},
    {"DFT", 20, DftAxisToInput},
    {"Dropout", 12, DropoutToInputs},
    {"GridSample", 20, GridSampleModes},
    {"GroupNormalization", 21, GroupNormalizationPerChannel},
    {"Hardmax", 13, Flattening},
    {"LogSoftmax", 13, Flattening},
    {"Pad", 11, PadToInputs},
    {"ReduceL1", 18, AxesToInput},
    {"ReduceL2", 18, AxesToInput},
    {"ReduceLogSum", 18, AxesToInput},
    {"ReduceLogSumExp", 18, AxesToInput},
    {"ReduceMax", 18, AxesToInput},
    {"ReduceMean", 18, AxesToInput},
    {"ReduceMin", 18, AxesToInput},
    {"ReduceProd", 18, AxesToInput},
    {"ReduceSum", 13, AxesToInput},
    {"ReduceSumSquare", 18, AxesToInput},
    {"Resize", 11, ToResize},
    {"Resize", 13, EmptyResizeInputs},
    {"RoiAlign", 16, RoiAlignHalfPixel},
    {"Scan", 9, BatchedScan},
    {"Scatter", 11, RenameScatter},
    {"Slice", 10, SliceToInputs},
    {"Softmax", 13, Flattening},
    {"Split", 13, SplitToInput},
    {"Split", 18, SplitCount},
    {"Squeeze", 13, AxesToInput},
    {"TopK", 10, TopKToInput},
    {"Unsqueeze", 13, AxesToInput},
    {"Upsample", 10, ToResize},
};

const Row* FindRow(std::string_view op, int64_t version) {
  for (const Row& row : kUpgrades) {
    if (row.op == op && version < row.below) return &row;
  }
  return nullptr;
}

}  // namespace

Result<std::vector<NodeForm>> Upgrade(NodeForm node, int64_t version, UpgradeSite& site) {
  Nodes nodes;
  if (version < 7) {
    SBP_ASSIGN_OR_RETURN(Nodes old, UpgradeToOpset7(std::move(node), version, site));
    for (NodeForm& form : old) {
      SBP_ASSIGN_OR_RETURN(Nodes newer, Upgrade(std::move(form), 7, site));
      for (NodeForm& last : newer) nodes.push_back(std::move(last));
    }
    return nodes;
  }
  if (const Row* row = FindRow(node.type, version); row != nullptr) {
    Step step{node, site, {}};
    SBP_RETURN_IF_ERROR(
        row->upgrade(step).WithContext(StrCat("op ", Quote(node.name), " (", row->op, ", opset ", version, ")")));
    nodes = std::move(step.before);
  }
  nodes.push_back(std::move(node));
  return nodes;
}

}  // namespace sbp::onnx
