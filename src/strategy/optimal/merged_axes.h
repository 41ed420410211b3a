// Plans that treat several mesh axes as one: few candidates are left, which can be looked at together, and their best
// plan is one of the whole mesh.
#pragma once

#include "problem/problem.h"
#include "strategy/optimal/candidate_lists.h"
#include "strategy/strategy.h"

namespace sbp {

// Of `all`, the candidates whose layouts are alike on the axes of the mesh's first half, and on those of its second.
// Where an op has none (a pin asks for others) all of it are left.
CandidateLists ListsOfMergedAxes(const Problem& problem, const CandidateLists& all);

}  // namespace sbp
