// Which mesh: looks at each (look.h), plans those that no proof excludes, the most promising first, and keeps the best.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "meshes/trial.h"
#include "pipeline/request.h"
#include "plan/plan.h"
#include "sbp/mesh.h"
#include "schedule/measure.h"

namespace sbp {

// A number of devices that is too small (api/meshes.h).
struct SizeTrial {
  int64_t devices = 0;
  std::string why;
};

struct MeshChoice {
  StepMeasure measure = StepMeasure::kSum;  // by which meshes were compared, and "faster" is meant below
  std::vector<MeshTrial> trials;  // the fastest planned first, then those looked at, pruned, too large, without a plan
  std::vector<Plan> plans;        // of the first trials: as many as were asked for, and one more where there is one
  size_t kept = 0;                // of them, those that were asked for
  // No plan's prices add up to less on any mesh that was tried, where each has a bound; no plan's schedule is shorter.
  // At most the best plan's seconds.
  std::optional<double> bound_seconds, schedule_bound_seconds;
  // Of what meshes were compared by: no plan on any mesh that was tried takes less, not even one above the memory
  // limit, as far as the looks tell; 0: they tell nothing.
  double free_bound_seconds = 0;

  // By what meshes were compared.
  std::optional<double> StepBound() const;
  std::vector<SizeTrial> too_few;  // where the number of devices was chosen: those below, ascending
};

// What MakePlan is asked on a mesh. Errors are of that mesh only, if they are kBadInput or kNoPlan. May be called by
// several threads at once.
using RequestOnMesh = std::function<Result<PlanRequest>(const Mesh& mesh)>;

struct MeshSearchOptions {
  size_t keep = 1;  // plans
  int threads = 2;  // the answer does not depend on it
  // Requests begin with plans of nearly the same problem on their meshes: planning only looks for what is better now.
  bool refines = false;
  // Seconds that a step should take at most: meshes that may have such a plan are planned until one has, others not.
  std::optional<double> target_step;
  // Of a step of a plan that is known from elsewhere, by the measure of plans; requires keep == 1. As if that were
  // planned first, meshes are left out that have nothing better by more than the gap. Where none has, the answer has no
  // plans.
  std::optional<double> known_seconds;
  // Where nothing fits, is the nearest mesh planned for what holds its memory? Else the error is a proof where there is
  // one, which is quick.
  bool explains = true;
  // Are meshes planned, too, on which the memory limit presses: what is found at a glance is over it? To search there
  // takes many times as long, and is of little use where the same is also tried with a little recomputation. Not: only
  // those of few candidates are, and where all others are such, the error (kNoPlan) is no proof.
  bool plans_pressed = true;
  std::function<bool()> cancelled;
  std::function<void(std::string_view)> progress;  // what is done, for people; by one thread at a time
};

// Meshes are compared by what their plans are made for: where the execution is fused and the objective is the schedule,
// by schedules, else by sums of prices. Bounds, too, are of that.
//
// Strategies that search (StrategyRow::has_bound): all meshes are looked at, coarse ones first, whose plans finer ones
// begin with. Meshes of too many candidates get their bounds so, as far as those exclude them. Others' bounds of
// schedules take as long as a look; where planning is long, the next meshes to be planned get theirs from that, and the
// rest meanwhile, but for meshes on which the memory limit presses, whose bounds would take as long as plans. Then
// meshes are planned two at a time, by the price of what was found at a glance, until each is planned or excluded: its
// bound is not below the price of the `keep`-th best plan by more than the search's gap (--gap), or no plan on it fits.
// So no mesh is dropped whose plan would be better than those that are kept by more than that. Where planning is long
// (large graphs, three and more axes) it ends when the effort is spent that all meshes have together, some ten times
// one mesh's --effort, or --time: seconds of all meshes together, though each is looked at and one is planned; meshes
// that are left were only looked at, and say so. Where its bound leaves room, the best mesh
// is planned once more as if it had been given, and the shorter plan is taken: but for large networks, under limits
// that press, and where a plan is good enough for target_step or compared with one from elsewhere. Meshes whose
// networks are too large to hold all candidates (network_size.h) are planned with a twentieth of the effort, from the
// plans of coarser ones or from those that requests begin with (refines). Other strategies plan each mesh; the best get
// a bound where one is wanted.
//
// Deterministic. Errors: kNoPlan where no mesh has a plan, with the words of the one that is nearest to one, or where
// bounds say that none keeps to target_step; others of the first mesh that has them.
Result<MeshChoice> ChooseMesh(const std::vector<Mesh>& meshes, const RequestOnMesh& request_on,
                              const MeshSearchOptions& options);

}  // namespace sbp
