// A plan of a coarser mesh for a search on a fine one to begin with. Of three and more axes a search looks at a few
// candidates of each op only; on two axes, each a product of neighbouring ones, it looks at all of them, and what it
// finds there is a plan of the fine mesh, too, though seldom at the same price: collectives over two axes one after the
// other are dearer than over their product.
#pragma once

#include <functional>

#include "base/status.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "sbp/mesh.h"
#include "strategy/strategy.h"

namespace sbp {

// The problem's graph planned on another mesh of the same devices.
using PlanOnMesh = std::function<Result<Plan>(Mesh mesh, StrategyOptions strategy)>;

// A search with these options begins with the plan found so (start_*): without the memory limit, and then without known
// ways; or under it where that does not fit. They are left as they are where it is of no use: on at most two axes of
// several devices, with a start of their own, with pins, which have a layout for each axis, and for very large graphs.
// Deterministic, unless a time is given, of which it takes a part.
void BeginOnCoarserMesh(const Problem& problem, const PlanOnMesh& plan_on, StrategyOptions& strategy);

}  // namespace sbp
