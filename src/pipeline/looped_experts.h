// Rows that data pick for each of many like products: how eager code writes a mixture of experts, expert by expert. All
// of them are planned for all rows, so that such a plan is priced far too dear; users must be told.
#pragma once

#include <string>
#include <vector>

#include "problem/problem.h"

namespace sbp {

// At most one warning, which names the first such op that picks rows, a product of them, and how many there are.
std::vector<std::string> WarnOfLoopedExperts(const Problem& problem);

}  // namespace sbp
