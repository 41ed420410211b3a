#include "api/assignment.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/reorder.h"
#include "io/documents.h"
#include "io/file.h"
#include "io/pins.h"
#include "pipeline/request.h"
#include "plan/pins.h"
#include "plan/plan.h"
#include "sbp/sbp.h"
#include "sbp/signature.h"
#include "strategy/optimal/search_options.h"

namespace sbp {
namespace {

Status Uncovered(const std::string& path, const std::vector<std::string>& missing) {
  const std::vector<std::string> shown(missing.begin(), missing.begin() + std::min<size_t>(missing.size(), 5));
  return BadInput(StrCat(path, " does not say the signature of ", missing.size(), " ops: ", Join(shown, ", "),
                         missing.size() > shown.size() ? ", ..." : ""));
}

Status CheckAxes(const Plan& plan, const std::string& path, const PlanRequest& request) {
  if (plan.mesh.num_axes() == request.mesh.num_axes()) return OkStatus();
  return BadInput(StrCat(path, " is a plan for ", ToString(plan.mesh), ", not for ", request.mesh.num_axes(), " axes (",
                         ToString(request.mesh), ")"));
}

Status FromPlan(const Plan& plan, const std::string& path, PlanRequest& request) {
  SBP_RETURN_IF_ERROR(CheckAxes(plan, path, request));
  const NameIndex names(plan.graph);
  const Graph& graph = request.graph;
  std::vector<std::string> missing;
  for (const Op& op : graph.ops) {
    const OpId other = names.op(op.name);
    if (other.valid()) {
      request.strategy.given_signatures.push_back(plan.decision(other).signature);
    } else {
      missing.push_back(op.name);
    }
  }
  if (!missing.empty()) return Uncovered(path, missing);
  request.strategy.given_sources.assign(graph.tensors.size(), NdSbp(request.mesh.num_axes()));
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const TensorId other = names.tensor(graph.tensors[t].name);
    if (other.valid()) request.strategy.given_sources[t] = plan.source_layouts[other.index()];
  }
  return OkStatus();
}

Status FromPins(std::string_view content, const std::string& path, PlanRequest& request) {
  SBP_ASSIGN_OR_RETURN(const std::vector<PinText> texts, ReadPinsFile(content, path));
  const Graph& graph = request.graph;
  Pins pins;
  SBP_RETURN_IF_ERROR(ApplyPins(texts, graph, request.mesh, *request.rules, pins));
  std::vector<std::string> missing;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const auto pin = pins.signatures.find(OpId(i));
    if (pin != pins.signatures.end()) {
      request.strategy.given_signatures.push_back(pin->second.signature);
    } else {
      missing.push_back(graph.ops[i].name);
    }
  }
  if (!missing.empty()) return Uncovered(path, missing);
  // Inputs and parameters start as pinned, else as their first reader wants them.
  request.strategy.given_sources.assign(graph.tensors.size(), NdSbp(request.mesh.num_axes()));
  std::vector<bool> known(graph.tensors.size(), false);
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (const auto pin = pins.tensors.find(TensorId(t)); pin != pins.tensors.end()) {
      request.strategy.given_sources[t] = pin->second.layout;
      known[t] = true;
    }
  }
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const std::vector<TensorId> operands = graph.OperandsOf(graph.ops[i]);
    for (size_t k = 0; k < operands.size(); ++k) {
      if (!operands[k].valid() || known[operands[k].index()]) continue;
      const NdSbp& wanted = request.strategy.given_signatures[i].inputs[k];
      if (!wanted.has_partial()) request.strategy.given_sources[operands[k].index()] = wanted;
      known[operands[k].index()] = true;
    }
  }
  return OkStatus();
}

}  // namespace

Status ReadAssignment(const std::string& path, PlanRequest& request) {
  SBP_ASSIGN_OR_RETURN(const std::string content, ReadFile(path));
  const auto info = Recognise(content, path);
  if (info.ok() && info->kind == DocumentKind::kPlan) {
    SBP_ASSIGN_OR_RETURN(const Plan plan, ReadPlan(content, path));
    return FromPlan(plan, path, request);
  }
  return FromPins(content, path, request);
}

size_t StartFrom(const Plan& plan, PlanRequest& request) {
  const NameIndex names(plan.graph);
  size_t matched = 0;
  for (const Op& op : request.graph.ops) {
    std::optional<Signature>& signature = request.strategy.start_signatures.emplace_back();
    const OpId other = names.op(op.name);
    if (!other.valid()) continue;
    signature = plan.decision(other).signature;
    ++matched;
  }
  for (const Tensor& tensor : request.graph.tensors) {
    std::optional<NdSbp>& layout = request.strategy.start_sources.emplace_back();
    const TensorId other = names.tensor(tensor.name);
    if (other.valid()) layout = plan.source_layouts[other.index()];
  }
  return matched;
}

Status ReadStart(const std::string& path, PlanRequest& request) {
  SBP_ASSIGN_OR_RETURN(const std::string content, ReadFile(path));
  SBP_ASSIGN_OR_RETURN(Plan earlier, ReadPlan(content, path));
  SBP_RETURN_IF_ERROR(CheckAxes(earlier, path, request));
  if (earlier.options.reorders) {
    request.strategy.values.try_emplace("op-order", std::string(kShortestOrder));
    if (SearchOptionsOf(request.strategy).reorders) PutInOrderOf(earlier.graph, request.graph);
  }
  request.start = std::make_shared<const Plan>(std::move(earlier));
  const size_t matched = StartFrom(*request.start, request);
  if (matched == 0) return BadInput(StrCat(path, " is the plan of another model: it has none of this one's ops"));
  if (matched < request.graph.ops.size()) {
    request.warnings.push_back(StrCat("--start: ", path, " has ", matched, " of the ", request.graph.ops.size(),
                                      " ops of this model; the others start anew"));
  }
  if (const auto& uniform = request.start->options.uniform) request.strategy.values.try_emplace("uniform", *uniform);
  return OkStatus();
}

}  // namespace sbp
