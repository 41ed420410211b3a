// Plans of known ways without a search.
#pragma once

#include <cstddef>
#include <functional>

#include "base/status.h"
#include "problem/problem.h"
#include "strategy/strategy.h"

namespace sbp {

// Offers a plan of each known way (StrategyOptions::way), as if that were pinned and the rest chosen by einsum; of
// large graphs of the first few, as many as have `most_ops` ops together. Ways that cannot be pinned are left out. Ends
// where an offer fails, with that status, or is cancelled.
Status OfferFirstPlans(const Problem& problem, const StrategyOptions& options, size_t most_ops,
                       const std::function<Status(const Assignment&)>& offer);

}  // namespace sbp
