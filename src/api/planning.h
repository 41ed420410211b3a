// Planning policy: from what a caller says, defaults filled in, to the request that MakePlan (pipeline/pipeline.h)
// answers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/cluster.h"
#include "api/model.h"
#include "base/status.h"
#include "io/pins.h"
#include "pipeline/pipeline.h"

namespace sbp {

// Members are the flags of `infer`, and errors name them so.
struct PlanningInput {
  std::string model;                   // a file, as LoadModelFile takes it
  ResolveOptions resolve;              // bindings of dimensions; strict and simplify are taken from `options`
  std::string inputs;                  // a file of real inputs (api/tensors.h); "": none
  std::optional<Mesh> mesh;            // unset: one axis over all devices of the cluster
  std::string cluster;                 // as ChooseCluster takes it
  PlanOptions options;                 // as the plan records them; rule_files are filled in
  std::vector<PinText> pins;           // where: "--pin", or what errors shall say
  std::vector<std::string> pin_files;  // read after `pins`
  StrategyOptions strategy;            // criterion and memory_limit are taken from `options`
  std::string assignment, start;       // files: as ReadAssignment and ReadStart take them (api/assignment.h)
};

// `criterion` as --cost gives it, or "": a criterion without a strategy means the strategy that has criteria.
std::string DefaultStrategy(std::string_view criterion);

// Everything but planning: loads, resolves, chooses mesh and cluster, reads pins. `rules` must outlive the request.
// `note` is told what was chosen for the caller. Errors: of each file, of names (with the nearest), of combinations
// (kUsage).
Result<PlanRequest> PreparePlan(PlanningInput input, const RuleSet& rules, const NoteSink& note = nullptr);

}  // namespace sbp
