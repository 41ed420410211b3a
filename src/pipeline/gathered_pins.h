// Pinned weights that the plan gathers all the same.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"
#include "problem/problem.h"

namespace sbp {

// A pin W=LAYOUT says how a parameter starts; readers may box it away from there. Where that moves data, whoever pinned
// it hardly wanted it: one warning with the remedy, W==LAYOUT. Empty: no such boxing.
std::vector<std::string> WarnOfGatheredPins(const Problem& problem, const Plan& plan);

}  // namespace sbp
