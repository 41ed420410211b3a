// Planning policy: from what a caller says, defaults filled in, to the request that MakePlan (pipeline/pipeline.h)
// answers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/cluster.h"
#include "base/status.h"
#include "fold/resolve_options.h"
#include "grad/request.h"
#include "io/pins.h"
#include "pipeline/request.h"
#include "plan/plan.h"
#include "rule/rule_set.h"
#include "sbp/mesh.h"
#include "strategy/strategy.h"

namespace sbp {

struct LoadedModel;  // api/model.h
struct Recipe;       // recipe/recipe.h

// Members are the flags of `infer`, and errors name them so.
struct PlanningInput {
  std::string model;                   // a file, as LoadModelFile takes it
  ResolveOptions resolve;              // bindings of dimensions; strict and simplify are taken from `options`
  int64_t assumed_batch = 0;           // of AssumeBatch (api/model.h); 0: as many as devices
  std::string inputs;                  // a file of real inputs (api/tensors.h); "": none
  std::optional<Mesh> mesh;            // unset: one axis over all devices of the cluster
  std::string cluster;                 // as ChooseCluster takes it
  std::string execution;               // "eager", "fused"; "": as the cluster says
  std::string strategy, criterion;     // rows of AllStrategies() and AllCriteria(); "": the default
  PlanOptions options;                 // as the plan records them; strategy, criterion, rule_files are filled in
  std::vector<PinText> pins;           // where: "--pin", or what errors shall say
  std::vector<std::string> pin_files;  // read after `pins`
  std::string recipe;                  // as ReadRecipes takes it (recipe/recipe.h); its pins stand before all others
  std::string dtype;                 // as RetypeModel takes it (grad/retype.h), --compute of a training step; "": as is
  std::optional<GradRequest> train;  // plan the model's training graph (grad/grad.h), not the model
  bool ignore_annotations =
      false;            // of a model's file on devices and shards, which else stand as pins and give the mesh
  std::string weights;  // of Hugging Face, which are to be the model's (api/tensors.h); "": none
  // What was read from `model`, for who has read it before; null: it is read when it is needed. Its graph is taken.
  std::shared_ptr<LoadedModel> loaded;
  // The strategy's own options by name (StrategyRow::options); files as std::string.
  std::map<std::string, OptionValue, std::less<>> strategy_options;
};

// The strategy that is meant: by name; where no name is given, the first with criteria for a criterion, else the
// default. Error (kUsage): no such strategy or criterion, with the nearest.
Result<const StrategyRow*> ChooseStrategy(std::string_view strategy, std::string_view criterion);

// What is said of an option that the strategy does not have: whose it is. Requires an option that some strategy has.
Status RefuseOption(std::string_view name, const StrategyRow& strategy);

// Everything but planning: loads, resolves, chooses mesh and cluster, reads pins. `rules` must outlive the request.
// `note` is told what was chosen for the caller. Errors: of each file, of names (with the nearest), of combinations
// (kUsage).
Result<PlanRequest> PreparePlan(PlanningInput input, const RuleSet& rules, const NoteSink& note = nullptr);

// PreparePlan in two parts, for who plans a model on several meshes (api/meshes.h).
//
// Loads the model once. `place` gives the request its cluster, and a mesh with the axes that a recipe may name, before
// any work. Errors: as PreparePlan.
Result<PlanRequest> PrepareModel(PlanningInput& input, const RuleSet& rules,
                                 const std::function<Status(PlanRequest&)>& place);
// Adds what depends on the mesh, which the request has by then: pins of recipes (one per mesh axis; empty: none was
// asked for), known ways, files of assignments.
Status PutOnMesh(const PlanningInput& input, const std::vector<Recipe>& recipes, PlanRequest& request,
                 const NoteSink& note = nullptr);

// When the strategy of the request may end its search, and what may help where it ended too early (report.h,
// SummaryOptions). Empty where it does not search.
SearchGoal GoalOf(const PlanRequest& request);

}  // namespace sbp
