#include "api/grad.h"

#include <utility>

#include "api/model.h"
#include "api/tensors.h"

namespace sbp {

Result<Resolved> ResolveToDifferentiate(Graph graph, const RuleSet& rules, ResolveOptions options,
                                        const std::vector<TensorData>& inputs) {
  options.keep_floats = true;
  options.group_experts = std::exchange(options.simplify, false);
  return ResolveWithInputs(std::move(graph), rules, std::move(options), inputs);
}

Result<GradGraph> MakeGradOfModel(GradInput input, const RuleSet& rules, const NoteSink& warn) {
  SBP_ASSIGN_OR_RETURN(LoadedModel model, LoadModelFile(input.model));
  std::vector<TensorData> inputs;
  if (!input.inputs.empty()) {
    SBP_ASSIGN_OR_RETURN(inputs, ReadTensors(input.inputs, model.graph, model.graph.inputs, "input"));
  }
  if (inputs.empty()) AssumeBatch(model.graph, 1, input.resolve);
  SBP_ASSIGN_OR_RETURN(input.request.loss, LossOf(model.graph, input.request.loss));
  input.resolve.simplify = true;
  input.resolve.asked_for = input.request.wrt;
  SBP_ASSIGN_OR_RETURN(Resolved resolved,
                       ResolveToDifferentiate(std::move(model.graph), rules, std::move(input.resolve), inputs));
  for (const std::string& warning : resolved.warnings) {
    if (warn) warn(warning);
  }
  return MakeGradGraph(std::move(resolved.graph), rules, input.request);
}

Result<Resolved> MakeTrainingGraph(Graph graph, const RuleSet& rules,
                                   const std::vector<std::pair<std::string, std::string>>& flags,
                                   const ResolveOptions& options) {
  SBP_ASSIGN_OR_RETURN(const GradRequest request, ReadFlags(flags));
  SBP_ASSIGN_OR_RETURN(GradGraph made, MakeGradGraph(std::move(graph), rules, request));
  const std::vector<std::string> notes = NotesOn(made);
  SBP_ASSIGN_OR_RETURN(Resolved resolved, Resolve(std::move(made.graph), rules, options));
  resolved.warnings.insert(resolved.warnings.begin(), notes.begin(), notes.end());
  return resolved;
}

}  // namespace sbp
