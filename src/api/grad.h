// Training graphs: those of a model, as documents of their own, and those of a plan. PlanningInput::train plans one.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "api/cluster.h"
#include "base/status.h"
#include "fold/resolve.h"
#include "fold/resolve_options.h"
#include "grad/grad.h"
#include "grad/request.h"
#include "graph/graph.h"
#include "graph/tensor_data.h"
#include "rule/rule_set.h"

namespace sbp {

// Members are the flags of `grad`, and errors name them so.
struct GradInput {
  std::string model;       // a file, as LoadModelFile takes it
  ResolveOptions resolve;  // bindings of dimensions, strict; the rest is as ResolveToDifferentiate has it
  std::string inputs;      // a file of real inputs (api/tensors.h); "": none
  GradRequest request;
};

// The model's training graph (grad/grad.h), its weights where the model has them: LocateWeights, before it is written.
// `warn` is told what resolving warns of; what NotesOn says is left to the caller.
Result<GradGraph> MakeGradOfModel(GradInput input, const RuleSet& rules, const NoteSink& warn = nullptr);

// ResolveWithInputs (api/model.h) such that what is computed of weights stays and parameters are as the file has them:
// one that is folded away has no gradient, and one that is cut no name. Of `options.simplify` only the grouping of
// experts.
Result<Resolved> ResolveToDifferentiate(Graph graph, const RuleSet& rules, ResolveOptions options,
                                        const std::vector<TensorData>& inputs);

// The training graph of a resolved one, resolved anew: simplified where `options` say so. `flags` are those that a plan
// records (PlanOptions::train).
Result<Resolved> MakeTrainingGraph(Graph graph, const RuleSet& rules,
                                   const std::vector<std::pair<std::string, std::string>>& flags,
                                   const ResolveOptions& options);

}  // namespace sbp
