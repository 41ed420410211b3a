#include "api/planning.h"

#include <utility>

#include "api/assignment.h"
#include "api/tensors.h"
#include "base/text.h"
#include "io/file.h"

namespace sbp {
namespace {

Result<Mesh> WholeCluster(const std::string& name, const NoteSink& note) {
  SBP_ASSIGN_OR_RETURN(const Cluster cluster, ChooseCluster(name, nullptr));
  SBP_ASSIGN_OR_RETURN(Mesh mesh, ParseMesh(StrCat("x=", cluster.num_devices())));
  if (note) {
    note(StrCat("no --mesh; planning on one axis over all devices of ", cluster.name, ": --mesh ", ToString(mesh)));
  }
  return mesh;
}

Result<std::vector<std::pair<std::string, std::string>>> CollectPins(const PlanningInput& input) {
  std::vector<std::pair<std::string, std::string>> pins;
  for (const PinText& pin : input.pins) pins.emplace_back(pin.text, pin.where);
  for (const std::string& file : input.pin_files) {
    SBP_ASSIGN_OR_RETURN(const std::string content, ReadFile(file));
    SBP_ASSIGN_OR_RETURN(const std::vector<PinText> texts, ReadPinsFile(content, file));
    for (const PinText& pin : texts) pins.emplace_back(pin.text, pin.where);
  }
  return pins;
}

Status LoadInto(PlanningInput& input, const RuleSet& rules, PlanRequest& request) {
  SBP_ASSIGN_OR_RETURN(LoadedModel model, LoadModelFile(input.model));
  request.model_path = model.path;
  request.model_fingerprint = model.fingerprint;
  std::vector<TensorData> inputs;
  if (!input.inputs.empty()) {
    SBP_ASSIGN_OR_RETURN(inputs, ReadTensors(input.inputs, model.graph, model.graph.inputs, "input"));
  }
  input.resolve.strict = request.options.strict;
  input.resolve.simplify = request.options.simplify;
  SBP_ASSIGN_OR_RETURN(Resolved resolved, ResolveWithInputs(std::move(model.graph), rules, input.resolve, inputs));
  request.graph = std::move(resolved.graph);
  request.warnings = std::move(resolved.warnings);
  for (const Assumption& assumption : request.graph.assumptions) {
    request.warnings.push_back(StrCat("the plan holds only where input ", Quote(assumption.input), " is ",
                                      ToString(assumption), ": its value decided sizes or branches"));
  }
  return OkStatus();
}

// What belongs to another strategy than the one chosen is a mistake.
Status CheckStrategy(const PlanningInput& input) {
  const PlanOptions& options = input.options;
  SBP_RETURN_IF_ERROR(FindStrategy(options.strategy).status());
  if (options.strategy == "fixed" && input.assignment.empty()) {
    return UsageError("--strategy fixed needs --assignment FILE: a plan, or a pins file that covers every op");
  }
  if (options.strategy != "fixed" && !input.assignment.empty()) {
    return UsageError(StrCat("--assignment is for --strategy fixed, not for ", options.strategy));
  }
  return OkStatus();
}

}  // namespace

std::string DefaultStrategy(std::string_view criterion) { return criterion.empty() ? "optimal" : "greedy"; }

Result<PlanRequest> PreparePlan(PlanningInput input, const RuleSet& rules, const NoteSink& note) {
  SBP_RETURN_IF_ERROR(CheckStrategy(input));
  PlanRequest request;
  request.rules = &rules;
  if (!input.mesh) {
    SBP_ASSIGN_OR_RETURN(input.mesh, WholeCluster(input.cluster, note));
  }
  request.mesh = *input.mesh;
  SBP_ASSIGN_OR_RETURN(request.cluster, ChooseCluster(input.cluster, &request.mesh, note));
  request.options = std::move(input.options);
  request.options.rule_files = rules.user_files();
  SBP_ASSIGN_OR_RETURN(request.pins, CollectPins(input));
  SBP_RETURN_IF_ERROR(LoadInto(input, rules, request));
  request.strategy = std::move(input.strategy);
  request.strategy.criterion = request.options.criterion;
  request.strategy.memory_limit = request.options.memory_limit;
  if (!input.assignment.empty()) SBP_RETURN_IF_ERROR(ReadAssignment(input.assignment, request));
  if (!input.start.empty()) SBP_RETURN_IF_ERROR(ReadStart(input.start, request));
  return request;
}

}  // namespace sbp
