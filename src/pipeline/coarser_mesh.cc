#include "pipeline/coarser_mesh.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "plan/pins.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "sbp/mesh.h"
#include "strategy/known_plan.h"
#include "strategy/optimal/search_options.h"
#include "strategy/strategy.h"

namespace sbp {
namespace {

constexpr size_t kFewestAxes = 3;
constexpr double kShareOfCoarse = 0.4;  // of effort and time
constexpr size_t kMostOps = 20'000;     // of more, the search on the coarse mesh takes too long for what it finds
constexpr double kRoomOnCoarse = 0.97;  // of a limit: boxing of axis after axis holds a little more on the fine mesh

bool HasPins(const Pins& pins) {
  return !pins.signatures.empty() || !pins.tensors.empty() || !pins.lies.empty() || !pins.uses.empty();
}

// Those of one device split nothing.
std::vector<int> AxesOfSeveral(const Mesh& mesh) {
  std::vector<int> axes;
  for (int axis = 0; axis < mesh.num_axes(); ++axis) {
    if (mesh.size(axis) > 1) axes.push_back(axis);
  }
  return axes;
}

// Of `axes`: behind those that lie across nodes, where one ends with a node; else in the middle.
int CutOf(const Mesh& mesh, const std::vector<int>& axes, int64_t devices_per_node) {
  int64_t within = 1;
  for (size_t i = axes.size(); i-- > 1;) {
    within *= mesh.size(axes[i]);
    if (within == devices_per_node) return axes[i];
  }
  return axes[(axes.size() + 1) / 2];
}

// Two axes: those before `cut`, and the others.
Mesh Merged(const Mesh& mesh, int cut) {
  Mesh merged{.axes = {}, .ranks = mesh.ranks};
  for (int axis = 0; axis < mesh.num_axes(); ++axis) {
    if (axis == 0 || axis == cut) {
      merged.axes.push_back(mesh.axes[axis]);
    } else {
      merged.axes.back().name += StrCat("_", mesh.axes[axis].name);
      merged.axes.back().size *= mesh.axes[axis].size;
    }
  }
  return merged;
}

}  // namespace

void BeginOnCoarserMesh(const Problem& problem, const PlanOnMesh& plan_on, StrategyOptions& strategy) {
  const bool starts = !strategy.start_signatures.empty() || !strategy.given_signatures.empty();
  const std::vector<int> axes = AxesOfSeveral(problem.mesh);
  if (axes.size() < kFewestAxes || problem.num_ops() > kMostOps || starts || HasPins(problem.pins)) return;
  StrategyOptions coarse = strategy;
  coarse.memory_limit.reset();  // to search under it takes longer
  coarse.found = nullptr;
  coarse.only_begins = true;
  coarse.explains = false;
  const SearchOptions search = SearchOptionsOf(strategy);
  if (search.seconds > 0) {
    const int plans = strategy.memory_limit ? 2 : 1;  // without the limit, then under it
    coarse.values["time"] = kShareOfCoarse * search.seconds / plans;
    strategy.values["time"] = (1 - kShareOfCoarse) * search.seconds;
  } else {
    coarse.values["effort"] = kShareOfCoarse * search.effort;
  }
  const int cut = CutOf(problem.mesh, axes, problem.boxing->cluster().devices_per_node);
  const Mesh merged = Merged(problem.mesh, cut);
  Result<Plan> plan = plan_on(merged, coarse);
  if (strategy.memory_limit && plan.ok()) {
    const auto room = static_cast<int64_t>(kRoomOnCoarse * static_cast<double>(*strategy.memory_limit));
    if (plan->memory.peak_bytes > room) {
      // Searches under a limit go far astray from a plan that is none of theirs.
      strategy.start_waits = true;
      coarse.memory_limit = room;
      plan = plan_on(merged, coarse);
    }
  }
  if (!plan.ok()) return;
  BeginFrom(KnownPlanOf(*plan), problem.mesh, strategy);
  if (!strategy.start_waits) strategy.num_ways = 0;  // they take half of the time and win nothing then
}

}  // namespace sbp
