// A plan of one mesh as the beginning of a search on a finer one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/plan.h"
#include "problem/problem.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/signature.h"
#include "strategy/strategy.h"

namespace sbp {

// Who chose what, without graph and prices.
struct KnownPlan {
  Mesh mesh;
  std::vector<Signature> signatures;  // distinct
  std::vector<uint32_t> of_op;        // index into them
  std::vector<NdSbp> sources;         // per tensor, as Assignment has them
  double seconds = 0;                 // of a step on `mesh`
};
KnownPlan KnownPlanOf(const Problem& problem, const Assignment& assignment, double seconds);
KnownPlan KnownPlanOf(const Plan& plan);

// Per axis of the finer mesh, the axis of the coarser one that it is a part of: the coarser one's axes are products of
// neighbouring axes of the finer one, of which those of size 1 are part of any. Nothing: they are not.
std::optional<std::vector<int>> PartsOfAxes(const Mesh& coarse, const Mesh& fine);

// Lets a search on `fine` begin from the plan (StrategyOptions::start_*): each axis does what the coarser axis does
// that it is a part of. Requires PartsOfAxes of the plan's mesh.
void BeginFrom(const KnownPlan& coarse, const Mesh& fine, StrategyOptions& options);

}  // namespace sbp
