// dtensor: a program that runs the plan's torch.export model on DTensors, and the plan as a table for it.
#include "export/dtensor.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "boxing/boxing.h"
#include "cluster/collective_kind.h"
#include "export/exporter.h"
#include "export/parallelize.h"
#include "export/plan_table.h"
#include "graph/graph.h"
#include "graph/producers.h"
#include "graph/tensor_type.h"
#include "plan/ends.h"
#include "plan/plan.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "sbp/signature.h"

namespace sbp {
namespace {

// The ops that the program computes: it registers each by a line that starts so.
void AddOpsOf(std::string_view program, std::set<std::string, std::less<>>& ops) {
  for (const std::string_view line : Split(program, '\n')) {
    if (!line.starts_with("op(\"") && !line.starts_with("@op(\"") && !line.starts_with("_reduction(\"")) continue;
    const std::string_view call = line.substr(0, line.find(')'));
    for (size_t at = call.find('"'); at != std::string_view::npos; at = call.find('"', at + 1)) {
      const size_t end = call.find('"', at + 1);
      ops.emplace(call.substr(at + 1, end - at - 1));
      at = end;
    }
  }
}

// Are all parts of one size?
bool IsEven(const TensorType& type, const NdSbp& layout, const Mesh& mesh) {
  Shape shape = type.shape;
  for (int axis = 0; axis < layout.size(); ++axis) {
    if (!layout[axis].is_split()) continue;
    int64_t& size = shape[static_cast<size_t>(layout[axis].dim())];
    if (size % mesh.size(axis) != 0) return false;
    size /= mesh.size(axis);
  }
  return true;
}

bool IsWindowed(std::string_view type) {
  return type == "Conv" || type == "ConvTranspose" || type == "MaxPool" || type == "AveragePool";
}

bool IsNearest(const Op& op) {
  const AttributeValue* mode = op.attributes->Find("mode");
  return mode == nullptr || *mode == AttributeValue(std::string("nearest"));
}

bool SplitsSpace(const NdSbp& layout) {
  return std::any_of(layout.begin(), layout.end(), [](Sbp s) { return s.is_split() && s.dim() >= 2; });
}

bool IsZero(const AttributeValue& value) {
  const auto* number = std::get_if<double>(&value);
  return number != nullptr ? *number == 0 : value == AttributeValue(int64_t{0});
}

bool AreOnes(const AttributeValue& value) {
  const auto* numbers = std::get_if<std::vector<int64_t>>(&value);
  return numbers != nullptr && std::ranges::all_of(*numbers, [](int64_t n) { return n == 1; });
}

bool IsEmpty(const AttributeValue& value) {
  const auto* numbers = std::get_if<std::vector<int64_t>>(&value);
  return numbers != nullptr && numbers->empty();
}

bool SaysPads(const AttributeValue& value) {
  return value == AttributeValue(std::string("NOTSET")) || value == AttributeValue(std::string("VALID"));
}

// Attributes that the program computes where they are absent or have such a value.
struct LimitedAttribute {
  std::string_view type, name;
  bool (*is_computed)(const AttributeValue&);
};

constexpr LimitedAttribute kLimited[] = {
    {"AveragePool", "auto_pad", SaysPads},   {"AveragePool", "ceil_mode", IsZero},
    {"AveragePool", "dilations", AreOnes},   {"Conv", "auto_pad", SaysPads},
    {"ConvTranspose", "auto_pad", SaysPads}, {"ConvTranspose", "output_shape", IsEmpty},
    {"MaxPool", "auto_pad", SaysPads},
};

// Attention's operands are q, k, v, mask; what comes behind (kept keys, lengths, sinks) is not computed.
constexpr size_t kMaskOperand = 3;

constexpr size_t kTrainingOperand = 2;  // of Dropout

// What the op says that the program does not compute: "of type Pad with mode "reflect"", one each.
std::vector<std::string> LimitsOf(const Op& op, std::string_view type) {
  std::vector<std::string> limits;
  for (const LimitedAttribute& row : kLimited) {
    if (row.type != type) continue;
    const AttributeValue* value = op.attributes->Find(row.name);
    if (value != nullptr && !row.is_computed(*value))
      limits.push_back(StrCat("of type ", type, " with ", row.name, " ", ToString(*value)));
  }
  if (type == "Dropout" && op.inputs.size() > kTrainingOperand && op.inputs[kTrainingOperand].valid())
    limits.push_back("of type Dropout in training, whose numbers are drawn (--train-mode)");
  const bool reads_mask = type == "Attention" || type.starts_with("sbp::FlashAttention");
  for (size_t i = kMaskOperand + 1; reads_mask && i < op.inputs.size(); ++i) {
    const bool is_saved = type == "sbp::FlashAttentionGrad" && i > kMaskOperand + 1;  // of the forward pass
    if (op.inputs[i].valid() && !is_saved) limits.push_back(StrCat("of type ", type, " with operand ", i));
  }
  return limits;
}

// Why the program does not compute each of these ops, by reason; the names of the ops behind each.
std::map<std::string, std::vector<std::string>> RefusedOps(const Plan& plan) {
  std::set<std::string, std::less<>> known;
  AddOpsOf(PlanOpsText(), known);
  AddOpsOf(PlanOpsNetworkText(), known);
  AddOpsOf(PlanOpsOptimizerText(), known);
  AddOpsOf(PlanOpsRecurrentText(), known);
  std::map<std::string, std::vector<std::string>> refused;
  for (size_t i = 0; i < plan.graph.ops.size(); ++i) {
    const Op& op = plan.graph.ops[i];
    const std::string& type = plan.graph.type_of(op);
    if (!known.contains(type)) refused[StrCat("of type ", type)].push_back(op.name);
    for (std::string& limit : LimitsOf(op, type)) refused[std::move(limit)].push_back(op.name);
    const bool mixes = type == "Resize" && !IsNearest(op);
    if ((IsWindowed(type) || mixes) && !op.inputs.empty() && SplitsSpace(plan.decision(OpId(i)).signature.inputs[0]))
      refused["whose windows reach into the parts of other ranks"].push_back(op.name);
  }
  return refused;
}

Status CheckOps(const Plan& plan) {
  std::string text;
  for (const auto& [reason, names] : RefusedOps(plan)) {
    text += StrCat(text.empty() ? "" : "; ", names.size(), names.size() == 1 ? " op " : " ops ", reason, ", first ",
                   Quote(names.front()));
  }
  if (text.empty()) return OkStatus();
  return BadInput(StrCat("the program for DTensors does not compute ", text));
}

bool HasValue(const Tensor& tensor) { return tensor.literal || tensor.strided || tensor.data || tensor.part; }

// Was the model exported with weights of the meta device? Then `state` gives them.
bool IsOfMetaWeights(const Graph& graph) {
  return std::ranges::none_of(graph.tensors,
                              [](const Tensor& t) { return t.role == TensorRole::kParameter && t.data; });
}

Status CheckTensors(const Plan& plan) {
  const bool is_of_meta = IsOfMetaWeights(plan.graph);
  for (const Tensor& tensor : plan.graph.tensors) {
    if (tensor.type.kind != ValueKind::kTensor || !tensor.type.is_static())
      return BadInput(StrCat(Quote(tensor.name), " is no tensor of known sizes, which DTensors are"));
    const std::string dtype = StrCat("\"", DTypeName(tensor.type.dtype), "\": torch");
    if (PlanOpsText().find(dtype) == std::string_view::npos)
      return BadInput(
          StrCat(Quote(tensor.name), " is of type ", DTypeName(tensor.type.dtype), ", which torch has not"));
    if (tensor.role == TensorRole::kParameter && !is_of_meta && !HasValue(tensor))
      return BadInput(StrCat("the constant ", Quote(tensor.name), " is not in the model, and too large for the plan"));
  }
  return OkStatus();
}

// The optimizers that plan_reference.py has rows of: `    "sgd": ("sbp::SGD", ...`.
std::vector<std::string> ComparedOptimizers() {
  std::vector<std::string> names;
  for (const std::string_view line : Split(PlanReferenceText(), '\n')) {
    const size_t end = line.find("\": (\"sbp::");
    if (line.starts_with("    \"") && end != std::string_view::npos) names.emplace_back(line.substr(5, end - 5));
  }
  return names;
}

// Is there something in the step that --train made which the program does not run, or torch has not to compare with?
Status CheckStep(const Plan& plan) {
  SBP_RETURN_IF_ERROR(CheckOnePass(plan, "the program for DTensors"));
  if (!TrainingFlag(plan, "hvp").empty())
    return BadInput("the plan's step has products with the Hessian (--hvp), which the program for DTensors has not");
  const std::string_view given = TrainingFlag(plan, "optimizer");
  const std::string optimizer(given.substr(0, given.find(':')));
  const std::vector<std::string> known = ComparedOptimizers();
  if (optimizer.empty() || optimizer == "none") return OkStatus();
  if (!TrainingFlag(plan, "decompose").empty()) {
    return BadInput(StrCat("the plan's step expands ", optimizer, " into smaller ops, and the program for DTensors ",
                           "compares updates of whole ones with torch.optim: plan it without --decompose"));
  }
  if (std::ranges::find(known, optimizer) != known.end()) return OkStatus();
  return BadInput(StrCat("the plan's step updates weights by ", optimizer,
                         ", and the program for DTensors has of torch.optim ", Join(known, ", "),
                         DidYouMean(optimizer, known)));
}

Status CheckPlan(const Plan& plan) {
  if (!IsProducedBy(plan.graph, kTorchProducer)) {
    return BadInput(StrCat("the plan is of ", plan.model_path.empty() ? "no model file" : plan.model_path,
                           ", and DTensors run plans of what torch.export.save wrote (.pt2)"));
  }
  SBP_RETURN_IF_ERROR(CheckStep(plan));
  for (const Transition& transition : plan.transitions) {
    for (const BoxingStep& step : transition.steps) {
      if (step.kind == CollectiveKind::kSendRecv) {
        return BadInput(StrCat(Quote(plan.graph.tensor(transition.tensor).name), " is sent from rank to rank, from ",
                               ToString(transition.from), " to ", ToString(transition.to),
                               ", and the program for DTensors has collectives of whole axes only"));
      }
    }
  }
  SBP_RETURN_IF_ERROR(CheckOps(plan));
  return CheckTensors(plan);
}

// Where the program sends other bytes than the plan says, or DTensor cannot say how a tensor lies.
std::vector<std::string> Report(const Plan& plan) {
  std::vector<std::string> report;
  if (const std::string_view type = TrainingFlag(plan, "compute"); !type.empty()) {
    report.push_back(StrCat("the step computes in ", type,
                            ", what it is compared with as the model does: they differ by ", type,
                            "'s rounding (apply_plan.py --tolerance)"));
  }
  const auto lacks = [](const Tensor& t) { return t.role == TensorRole::kParameter && !HasValue(t); };
  if (const int64_t count = std::ranges::count_if(plan.graph.tensors, lacks); count > 0) {
    report.push_back(StrCat("the model has no values of ", count, count == 1 ? " parameter, " : " parameters, first ",
                            Quote(std::ranges::find_if(plan.graph.tensors, lacks)->name),
                            ": apply(..., state=) takes them"));
  }
  if (!TrainingFlag(plan, "train-mode").empty()) {
    report.emplace_back(
        "running variances are the batch's own, as ONNX's BatchNormalization keeps them; torch's are n / (n - 1) of "
        "it");
  }
  for (const Transition& transition : plan.transitions) {
    const Tensor& tensor = plan.graph.tensor(transition.tensor);
    for (const BoxingStep& step : transition.steps) {
      const bool padded = step.kind == CollectiveKind::kAllGather || step.kind == CollectiveKind::kReduceScatter;
      if (!padded || (IsEven(tensor.type, step.from, plan.mesh) && IsEven(tensor.type, step.to, plan.mesh))) continue;
      report.push_back(StrCat(Quote(tensor.name), " is split unevenly: its ", CollectiveKindName(step.kind), " from ",
                              ToString(step.from), " to ", ToString(step.to),
                              " sends parts of the largest one's size, more than the plan's bytes"));
    }
  }
  const std::vector<NdSbp> ends = OutputLayoutsOf(plan);
  for (size_t i = 0; i < plan.graph.outputs.size(); ++i) {
    const Tensor& tensor = plan.graph.tensor(plan.graph.outputs[i]);
    if (IsEven(tensor.type, ends[i], plan.mesh)) continue;
    report.push_back(
        StrCat("output ", Quote(tensor.name), " ends as ", ToString(ends[i]),
               " in uneven parts, which are balanced, not as torch.chunk makes them: DTensor.full_tensor() "
               "does not know them; plan with --outputs whole"));
  }
  return report;
}

// What people maintain, beside the exact program, where the plan folds to it.
void AddParallelize(const Plan& plan, const ExportOptions& options, PlanExport& made) {
  Result<std::string> program = ParallelizeProgram(plan, options, made.report);
  if (program.ok()) {
    made.files.push_back({"parallelize.py", *std::move(program)});
  } else {
    made.report.push_back(StrCat("parallelize.py is not written: ", program.status().message()));
  }
}

Result<PlanExport> WriteProgram(const Plan& plan, const ExportOptions& options) {
  SBP_RETURN_IF_ERROR(CheckPlan(plan));
  PlanExport made;
  made.files.push_back({"apply_plan.py", std::string(ApplyPlanText())});
  made.files.push_back({"plan_check.py", std::string(PlanCheckText())});
  made.files.push_back({"plan_moves.py", std::string(PlanMovesText())});
  made.files.push_back({"plan_ops.py", std::string(PlanOpsText())});
  made.files.push_back({"plan_ops_network.py", std::string(PlanOpsNetworkText())});
  made.files.push_back({"plan_ops_optimizer.py", std::string(PlanOpsOptimizerText())});
  made.files.push_back({"plan_ops_recurrent.py", std::string(PlanOpsRecurrentText())});
  made.files.push_back({"plan_reference.py", std::string(PlanReferenceText())});
  made.files.push_back({"plan_resample.py", std::string(PlanResampleText())});
  made.files.push_back({"plan_table.json", PlanTable(plan)});
  made.report = Report(plan);
  AddParallelize(plan, options, made);
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
