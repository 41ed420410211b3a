// How large a LayoutNetwork of some candidates would be, found before anything is built; and which candidates to look
// at where one of all would be too large.
#pragma once

#include <span>

#include "problem/problem.h"
#include "strategy/optimal/candidate_lists.h"
#include "strategy/optimal/layout_bound.h"
#include "strategy/strategy.h"

namespace sbp {

// Does the network of these candidates keep to what memory and time it may take? `chosen`: with
// LayoutNetworkOptions::lists.
bool FitsNetwork(const Problem& problem, const CandidateLists& lists, bool chosen);

// Of each op's list the candidates that seem best: those of least excess over the bound (none that excludes a plan
// faster than `upper` seconds), and those of the assignments in `kept`. `most` of an op, or as many as fit.
CandidateLists ChooseCandidates(const Problem& problem, const CandidateLists& all, const CandidateLists& among,
                                const LayoutBound& bound, double upper, std::span<const Assignment> kept, size_t most);

}  // namespace sbp
