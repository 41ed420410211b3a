// The flags of a mesh that is chosen: --devices, --axes, --top, --fit, --target-step.
#pragma once

#include <cstddef>
#include <string>

#include "api/meshes.h"
#include "base/status.h"
#include "cli/planning.h"
#include "meshes/choose.h"
#include "rule/rule_set.h"

namespace CLI {
class App;
}

namespace sbp {

struct MeshFlags {
  MeshSearch search;
  size_t top = 1;
  bool chooses() const { return search.devices != 0 || search.fit; }
};
void AddMeshFlags(CLI::App& app, MeshFlags& flags);

// Error (kUsage): flags that mean nothing without --devices or --fit.
Status CheckMeshFlags(const MeshFlags& flags);

// PlanOnMeshes (api/meshes.h) with progress and Ctrl-C; with --remat auto and a memory limit, ChooseRemat of it.
// `timings` receives the seconds of loading and planning.
Result<MeshChoice> PlanChoosingMesh(const PlanningFlags& planning, const MeshFlags& flags, const RuleSet& rules,
                                    Timings& timings);

// "plan.3.json" of "plan.json": where the `number`-th best plan goes, from 2 on.
std::string PathOfPlan(const std::string& out, size_t number);

}  // namespace sbp
