// The plan as a program for jax.shard_map: a table of its steps, and Python that computes them.
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "boxing/boxing.h"
#include "cluster/collective_kind.h"
#include "export/dtensor.h"
#include "export/exporter.h"
#include "export/jax.h"
#include "export/plan_table.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "plan/ends.h"
#include "plan/plan.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

// The ops that the program computes: it registers each by a line that starts so.
std::set<std::string, std::less<>> OpsOfJax() {
  std::set<std::string, std::less<>> ops;
  std::vector<std::string_view> lines;
  for (const std::string_view text :
       {JaxOpsText(), JaxOpsCompositeText(), JaxOpsImageText(), JaxOpsNetworkText(), JaxOpsRecurrentText()}) {
    for (const std::string_view line : Split(text, '\n')) lines.push_back(line);
  }
  for (const std::string_view line : lines) {
    if (!line.starts_with("@op(\"") && !line.starts_with("op(\"")) continue;
    const std::string_view call = line.substr(0, line.find(')'));
    for (size_t at = call.find('"'); at != std::string_view::npos; at = call.find('"', at + 1)) {
      const size_t end = call.find('"', at + 1);
      ops.emplace(call.substr(at + 1, end - at - 1));
      at = end;
    }
  }
  return ops;
}

Status CheckJaxOps(const Plan& plan) {
  const auto known = OpsOfJax();
  std::map<std::string, std::vector<std::string>> refused;
  for (const Op& op : plan.graph.ops) {
    const std::string& type = plan.graph.type_of(op);
    if (!known.contains(type)) refused[type].push_back(op.name);
  }
  std::string text;
  for (const auto& [type, names] : refused) {
    text += StrCat(text.empty() ? "" : "; ", names.size(), " of type ", type, ", first ", Quote(names.front()));
  }
  if (text.empty()) return OkStatus();
  std::string_view remedy = "; --annotate does not mind";
  if (!plan.options.train.empty()) {
    // Ops that are left of a step which is expanded already have no smaller ones.
    remedy =
        TrainingFlag(plan, "decompose").empty() ? "; plan with --decompose, which expands ops into primitives" : "";
  }
  return BadInput(StrCat("the program for JAX does not compute ops ", text, remedy));
}

Status CheckJaxLayout(const Plan& plan, TensorId id, NdSbp layout) {
  const Tensor& tensor = plan.graph.tensor(id);
  const std::string planned = ToString(layout);
  if (!MakeEven(tensor.type, plan.mesh, layout)) return OkStatus();
  return BadInput(StrCat(Quote(tensor.name), " is ", planned,
                         " in parts of different sizes, and jax.shard_map has one "
                         "size for all devices; plan with --even-only"));
}

// Sums and values by which they begin are all that some kinds are of (jax_ops.py, boxing).
bool LacksJax(const BoxingStep& step) {
  const Sbp from = step.from[step.axis], to = step.to[step.axis];
  const auto is = [](const Sbp& sbp, ReduceKind kind) { return sbp.is_partial() && sbp.reduce_kind() == kind; };
  if (step.kind == CollectiveKind::kReduceScatter) return !is(from, ReduceKind::kSum);
  if (step.kind == CollectiveKind::kAllReduce) return is(from, ReduceKind::kProd);
  return step.kind == CollectiveKind::kPad && (is(to, ReduceKind::kMax) || is(to, ReduceKind::kMin));
}

Status CheckJaxTensors(const Plan& plan) {
  for (size_t t = 0; t < plan.graph.tensors.size(); ++t) {
    const Tensor& tensor = plan.graph.tensors[t];
    if (tensor.type.kind != ValueKind::kTensor || !tensor.type.is_static())
      return BadInput(StrCat(Quote(tensor.name), " is no tensor of known sizes, which JAX wants"));
    SBP_RETURN_IF_ERROR(CheckJaxLayout(plan, TensorId(t), plan.source_layouts[t]));
  }
  for (const Transition& transition : plan.transitions) {
    for (const BoxingStep& step : transition.steps) {
      SBP_RETURN_IF_ERROR(CheckJaxLayout(plan, transition.tensor, step.to));
      if (LacksJax(step)) {
        return BadInput(StrCat("the ", CollectiveKindName(step.kind), " of ",
                               Quote(plan.graph.tensor(transition.tensor).name), ", from ", ToString(step.from), " to ",
                               ToString(step.to), ": JAX has reduce-scatters of sums, and all-reduces of sums, maxima ",
                               "and minima"));
      }
      if (step.kind != CollectiveKind::kSendRecv) continue;
      return BadInput(StrCat(Quote(plan.graph.tensor(transition.tensor).name), " is sent from device to device, from ",
                             ToString(transition.from), " to ", ToString(transition.to),
                             ", and the program for JAX has collectives of whole axes only"));
    }
  }
  const std::vector<NdSbp> ends = OutputLayoutsOf(plan);
  for (size_t i = 0; i < ends.size(); ++i) {
    if (!ends[i].has_partial()) continue;
    return BadInput(StrCat("output ", Quote(plan.graph.tensor(plan.graph.outputs[i]).name), " ends ", ToString(ends[i]),
                           ", and jax.shard_map returns no partial values; plan without --outputs any"));
  }
  return OkStatus();
}

}  // namespace

Result<PlanExport> WriteJaxProgram(const Plan& plan) {
  SBP_RETURN_IF_ERROR(CheckOnePass(plan, "the program for JAX"));
  SBP_RETURN_IF_ERROR(CheckJaxOps(plan));
  SBP_RETURN_IF_ERROR(CheckJaxTensors(plan));
  PlanExport made;
  made.files.push_back({"load_plan.py", std::string(JaxExactText())});
  made.files.push_back({"jax_ops.py", std::string(JaxOpsText())});
  made.files.push_back({"jax_ops_composite.py", std::string(JaxOpsCompositeText())});
  made.files.push_back({"jax_ops_image.py", std::string(JaxOpsImageText())});
  made.files.push_back({"jax_ops_network.py", std::string(JaxOpsNetworkText())});
  made.files.push_back({"jax_ops_recurrent.py", std::string(JaxOpsRecurrentText())});
  made.files.push_back({"plan_resample.py", std::string(PlanResampleText())});
  made.files.push_back({"plan_run.py", std::string(JaxRunText())});
  made.files.push_back({"plan_table.json", PlanTable(plan)});
  return made;
}

}  // namespace sbp
