#include "onnx/upgrade_old.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace sbp::onnx {
namespace {

struct OldStep {
  NodeForm& node;
  UpgradeSite& site;
  std::vector<NodeForm> before;
};

// `input` with dimensions of 1 behind its own, so that it lines up with `rank` dimensions from `axis` on.
Status PadRank(OldStep& step, size_t input, int64_t axis, int64_t rank) {
  NodeForm& node = step.node;
  const int64_t own = step.site.RankOf(node.inputs[input]);
  if (rank < 0 || own < 0) return BadInput("its broadcast needs ranks that the file does not state");
  if (axis < 0) axis += rank;
  const int64_t behind = rank - axis - own;
  if (behind < 0) return BadInput(StrCat("axis ", axis, " of a tensor of rank ", rank, " leaves no room"));
  if (behind == 0) return OkStatus();
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < behind; ++i) axes.push_back(own + i);
  const std::string hint = StrCat(node.outputs.empty() ? node.name : node.outputs.front(), "/aligned");
  NodeForm raise;
  raise.type = "Unsqueeze";
  raise.attributes.Set("axes", std::move(axes));
  raise.inputs = {node.inputs[input]};
  raise.name = step.site.NewName(hint);
  raise.outputs = {raise.name};
  raise.scope = node.scope;
  node.inputs[input] = raise.name;
  step.before.push_back(std::move(raise));
  return OkStatus();
}

// Two operands broadcast only where `broadcast` says so, and the second then starts at dimension `axis` of the first.
Status Broadcast(OldStep& step) {
  const bool given = step.node.attributes.Find("axis") != nullptr;
  const int64_t axis = step.node.attributes.Int("axis", 0);
  const bool broadcasts = step.node.attributes.Int("broadcast", 0) != 0;
  EraseAttribute(step.node, "axis");
  EraseAttribute(step.node, "broadcast");
  if (!given || !broadcasts || step.node.inputs.size() < 2) return OkStatus();
  return PadRank(step, 1, axis, step.site.RankOf(step.node.inputs[0]));
}

// The slope has one entry a channel: dimension 1.
Status Slope(OldStep& step) {
  if (step.node.inputs.size() < 2 || step.site.RankOf(step.node.inputs[1]) != 1) return OkStatus();
  return PadRank(step, 1, 1, step.site.RankOf(step.node.inputs[0]));
}

Status Statistics(OldStep& step) {
  if (step.node.attributes.Int("spatial", 1) == 0)
    return BadInput("statistics per position (spatial = 0) are not read");
  return OkStatus();
}

Status ConcatAxis(OldStep& step) {
  if (step.node.attributes.Find("axis") == nullptr) step.node.attributes.Set("axis", int64_t{1});
  return OkStatus();
}

struct OldForm {
  std::string_view op;
  int64_t oldest;  // the first version that is read
  Status (*upgrade)(OldStep& step) = nullptr;
};
constexpr OldForm kOldForms[] = {
    {"Abs", 1},
    {"Add", 1, Broadcast},
    {"And", 1, Broadcast},
    {"ArgMax", 1},
    {"ArgMin", 1},
    {"AveragePool", 1},
    {"BatchNormalization", 1, Statistics},
    {"Cast", 6},
    {"Ceil", 1},
    {"Clip", 1},
    {"Concat", 1, ConcatAxis},
    {"Conv", 1},
    {"ConvTranspose", 1},
    {"DepthToSpace", 1},
    {"Div", 1, Broadcast},
    {"Dropout", 1},
    {"Elu", 1},
    {"Equal", 1, Broadcast},
    {"Exp", 1},
    {"Flatten", 1},
    {"Floor", 1},
    {"Gather", 1},
    {"Gemm", 1},
    {"GlobalAveragePool", 1},
    {"GlobalLpPool", 2},
    {"GlobalMaxPool", 1},
    {"Greater", 1, Broadcast},
    {"HardSigmoid", 1},
    {"Hardmax", 1},
    {"Identity", 1},
    {"InstanceNormalization", 1},
    {"LRN", 1},
    {"LeakyRelu", 1},
    {"Less", 1, Broadcast},
    {"Log", 1},
    {"LogSoftmax", 1},
    {"LpNormalization", 1},
    {"LpPool", 2},
    {"MatMul", 1},
    {"Max", 1},
    {"MaxPool", 1},
    {"Mean", 1},
    {"Min", 1},
    {"Mul", 1, Broadcast},
    {"Neg", 1},
    {"Not", 1},
    {"Or", 1, Broadcast},
    {"PRelu", 1, Slope},
    {"Pad", 2},
    {"Pow", 1, Broadcast},
    {"Reciprocal", 1},
    {"ReduceL1", 1},
    {"ReduceL2", 1},
    {"ReduceLogSum", 1},
    {"ReduceLogSumExp", 1},
    {"ReduceMax", 1},
    {"ReduceMean", 1},
    {"ReduceMin", 1},
    {"ReduceProd", 1},
    {"ReduceSum", 1},
    {"ReduceSumSquare", 1},
    {"Relu", 1},
    {"Reshape", 5},
    {"Selu", 6},
    {"Shape", 1},
    {"Sigmoid", 1},
    {"Size", 1},
    {"Slice", 1},
    {"Softmax", 1},
    {"Softplus", 1},
    {"Softsign", 1},
    {"SpaceToDepth", 1},
    {"Split", 2},
    {"Sqrt", 1},
    {"Squeeze", 1},
    {"Sub", 1, Broadcast},
    {"Sum", 1},
    {"Tanh", 1},
    {"Tile", 6},
    {"TopK", 1},
    {"Transpose", 1},
    {"Unsqueeze", 1},
    {"Xor", 1, Broadcast},
};

}  // namespace

Result<std::vector<NodeForm>> UpgradeToOpset7(NodeForm node, int64_t version, UpgradeSite& site) {
  const auto* row = std::find_if(std::begin(kOldForms), std::end(kOldForms),
                                 [&](const OldForm& r) { return r.op == node.type && version >= r.oldest; });
  if (row == std::end(kOldForms)) {
    return BadInput(StrCat(node.type, " of opset ", version, " is too old; this op is read from ",
                           "opset 7 on (most ops from opset 1 on)"));
  }
  // Hints to the runtimes of that time.
  for (const std::string_view hint : {"consumed_inputs", "is_test", "spatial", "broadcast"}) {
    if (row->upgrade == nullptr) EraseAttribute(node, hint);
  }
  OldStep step{node, site, {}};
  if (row->upgrade != nullptr) {
    SBP_RETURN_IF_ERROR(
        row->upgrade(step).WithContext(StrCat("op ", Quote(node.name), " (", row->op, ", opset ", version, ")")));
    for (const std::string_view hint : {"consumed_inputs", "is_test", "spatial"}) EraseAttribute(node, hint);
  }
  std::vector<NodeForm> nodes = std::move(step.before);
  nodes.push_back(std::move(node));
  return nodes;
}

}  // namespace sbp::onnx
