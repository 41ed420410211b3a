// How little memory a plan can do with: for where nothing was found that fits.
#pragma once

#include <cstdint>
#include <functional>

#include "base/status.h"
#include "problem/problem.h"
#include "strategy/optimal/candidate_lists.h"
#include "strategy/optimal/layout_network.h"
#include "strategy/strategy.h"

namespace sbp {

// Assignments whose peaks are small, begun from `start`, each handed to `offer`: the smallest that the network knows,
// and with a little more room those of the fewest boxed copies beside the tensors themselves (the network counts no
// copies). A fixed amount of work. Not `may_fit`: they are for a message, and of large graphs the first
// one does for that and, on one axis or two, what a short search for uniform plans without the limit finds. `lists`:
// only these candidates; null: all. Error: as LayoutNetwork::Build.
Status OfferSmallPlans(const Problem& problem, const Assignment& start, const StrategyOptions& options,
                       const CandidateLists* lists, bool may_fit,
                       const std::function<Status(const Assignment&)>& offer);

// No plan peaks below that many bytes per device: proved on `relaxed`, a relaxed network with a memory limit.
// `reached` is the peak of some plan.
int64_t LeastPeakOfPlans(const LayoutNetwork& relaxed, int64_t reached, const StrategyOptions& options);

// The same without a network, from tensors one by one: weaker, and cheap whatever their layouts. At most `reached`.
int64_t LeastPeakOfTensors(const Problem& problem, int64_t reached);

}  // namespace sbp
