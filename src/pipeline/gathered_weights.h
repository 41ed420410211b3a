// Weights gathered per token: how some exporters write a mixture of experts. A kernel never makes that copy, so a plan
// of the literal graph is priced far too dear; users must be told.
#pragma once

#include <string>
#include <vector>

#include "problem/problem.h"

namespace sbp {

// At most one warning, which names the largest such copy and says how many there are.
std::vector<std::string> WarnOfGatheredWeights(const Problem& problem);

}  // namespace sbp
