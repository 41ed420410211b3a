// Planning without a mesh: the mesh is chosen too, or the number of devices.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/cluster.h"
#include "api/planning.h"
#include "base/status.h"
#include "meshes/choose.h"
#include "plan/plan.h"
#include "rule/rule_set.h"

namespace sbp {

// Members are flags of `infer`, and errors name them so.
struct MeshSearch {
  int64_t devices = 0;  // 0, with `fit`: those of the cluster; of a preset of nodes, kMostNodes nodes
  // Outermost first; a mesh has at most as many axes. "": as a recipe per axis names them, else kDefaultAxes. Where
  // pins are given, each of which has a layout per axis, all meshes have these axes.
  std::string axes;
  bool fit = false;                   // the smallest number of devices, up to `devices`, ...
  std::optional<double> target_step;  // ... on which a step takes at most that many seconds (MeshChoice::measure)
  // Only the meshes of these plans, with which searches on them begin: of nearly the same model, such as one that
  // computes other layers again, by names of ops; of two of one mesh, the later one. Empty: all meshes.
  std::vector<std::shared_ptr<const Plan>> among;
};
inline constexpr std::string_view kDefaultAxes = "data,shard,model";
inline constexpr int64_t kMostNodes = 64;
inline constexpr int64_t kMostDevices = int64_t{1} << 20;

// ChooseMesh (meshes/choose.h) of the meshes that so many devices of the cluster can form (meshes/factorisations.h),
// for a model that is loaded and differentiated once. With `fit`, of the smallest number of devices of one node, or of
// whole nodes, on which a plan keeps to options.memory_limit and `target_step`: found by doubling, then by halving what
// lies between, as if more devices did what fewer do. `input.mesh` must be unset. Errors: as PreparePlan; kNoPlan: as
// ChooseMesh, with `fit` for the largest number, and a line for each that was tried.
Result<MeshChoice> PlanOnMeshes(PlanningInput input, const MeshSearch& search, const RuleSet& rules,
                                const MeshSearchOptions& options, const NoteSink& note = nullptr);

}  // namespace sbp
