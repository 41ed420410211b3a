#include "api/grad.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "api/model.h"
#include "api/tensors.h"

namespace sbp {

Result<Resolved> ResolveToDifferentiate(Graph graph, const RuleSet& rules, ResolveOptions options,
                                        const std::vector<TensorData>& inputs) {
  options.keep_floats = true;
  options.simplify = false;
  return ResolveWithInputs(std::move(graph), rules, std::move(options), inputs);
}

Result<GradGraph> MakeGradOfModel(GradInput input, const RuleSet& rules, const NoteSink& warn) {
  SBP_ASSIGN_OR_RETURN(LoadedModel model, LoadModelFile(input.model));
  std::vector<TensorData> inputs;
  if (!input.inputs.empty()) {
    SBP_ASSIGN_OR_RETURN(inputs, ReadTensors(input.inputs, model.graph, model.graph.inputs, "input"));
  }
  SBP_ASSIGN_OR_RETURN(Resolved resolved,
                       ResolveToDifferentiate(std::move(model.graph), rules, std::move(input.resolve), inputs));
  for (const std::string& warning : resolved.warnings) {
    if (warn) warn(warning);
  }
  return MakeGradGraph(std::move(resolved.graph), rules, input.request);
}

bool LocateWeights(const std::string& model, const std::string& path, Graph& graph) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::path folder = fs::canonical(fs::path(path).has_parent_path() ? fs::path(path).parent_path() : ".", failed);
  const fs::path file = failed ? fs::path() : fs::canonical(model, failed);
  const fs::path relative = failed ? fs::path() : file.lexically_relative(folder);
  const bool found = !relative.empty() && *relative.begin() != "..";
  bool missing = false;
  for (Tensor& tensor : graph.tensors) {
    if (!tensor.data) continue;
    missing = missing || !found;
    if (!found) continue;
    std::string& location = tensor.data->location;
    location = location.empty() ? relative.string() : (relative.parent_path() / location).string();
  }
  return !missing;
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
