#include "api/explain.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/text.h"
#include "grad/saved.h"
#include "graph/kept.h"
#include "graph/tensor_type.h"
#include "memory/training.h"
#include "pipeline/pipeline.h"
#include "problem/problem.h"
#include "report/kept.h"

namespace sbp {

Result<std::string> ExplainPlan(const Plan& plan, const RuleSet& rules, std::string_view name, bool json,
                                const ExplainFormat& format) {
  SBP_ASSIGN_OR_RETURN(const Problem problem, RebuildProblem(plan, rules));
  return Explain(problem, plan, name, json, format);
}

namespace {

std::string PrintKept(const Graph& graph, const RuleSet& rules, std::vector<int64_t> device_bytes, bool json,
                      size_t rows) {
  KeptFacts facts = {.kept = FindKept(graph), .device_bytes = std::move(device_bytes)};
  facts.savings = FindSavedByVjps(graph, facts.kept, rules);
  return json ? KeptJson(graph, facts) : FormatKept(graph, facts, rows);
}

}  // namespace

std::string ExplainKept(const Graph& training, const RuleSet& rules, bool json, size_t rows) {
  return PrintKept(training, rules, {}, json, rows);
}

std::string ExplainKept(const Plan& plan, const RuleSet& rules, bool json, size_t rows) {
  return PrintKept(plan.graph, rules, KeptBytesOnDevice(plan), json, rows);
}

Status CheckTrainingGraph(const Graph& graph, std::string_view where) {
  if (!HasBackward(graph)) {
    return BadInput(StrCat(where, ": --kept: the graph has no backward pass (no op stands in scope \"backward\"); ",
                           "sbp-plan grad makes a training graph of a model"));
  }
  const auto open = std::ranges::find_if(graph.tensors, [](const Tensor& tensor) {
    return tensor.type.kind == ValueKind::kTensor && !tensor.type.is_static();
  });
  if (open == graph.tensors.end()) return OkStatus();
  return BadInput(StrCat(where, ": --kept: tensor ", Quote(open->name), " is ", ToString(open->type),
                         "; in what sbp-plan grad writes every size is a number"));
}

}  // namespace sbp
