// What is read late may be computed late: behind the op that waits for a collective, which then waits beside compute
// and not alone. Products that make gradients of weights are such ops: the optimizer reads them at the end of the step,
// while the gradient of the activations, which the next layer reads, is being reduced.
#pragma once

#include <cstddef>
#include <vector>

#include "base/ids.h"
#include "plan/plan.h"
#include "problem/problem.h"

namespace sbp {

// An order of the plan's ops in which up to `most` products, with what is made of them alone, wait for an op that would
// wait for boxing, by the plan's seconds; in a section of the step (graph/sections.h), in which they stay. Products
// between which and their readers fewer than a few others stand do not. The plan's own order where nothing waits.
// Linear in ops and their operands.
std::vector<OpId> OrderWithLateReads(const Problem& problem, const Plan& plan, size_t most);

}  // namespace sbp
