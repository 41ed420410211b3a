// The transitions of one tensor: every layout that somebody wants, each reached once. Paths start at the layout in
// which the tensor was written or at its hub: one more layout in which it stands, chosen so that the sum of seconds is
// least. (P(sum) -> S(0) -> B: who wants S(0) and who wants B share the reduce-scatter.) Trees with more than one hub
// would save a little more now and then; with one, a sum over pairs of nodes prices them exactly (strategy/optimal).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "boxing/boxing.h"
#include "plan/plan.h"
#include "problem/problem.h"

namespace sbp {

// A layout that some readers want, and when the first of them runs (op index; the number of ops: the end of the step).
struct Demand {
  NdSbp layout;
  std::vector<Use> consumers;  // empty: wanted by a tie
  uint32_t first = 0;
};

// A transition and when it runs.
struct TimedTransition {
  Transition transition;
  uint32_t time = 0;
};

// Layouts that may be a tensor's hub whatever is chosen: those that a candidate of a reader wants. Distinct, in order
// of appearance.
std::vector<NdSbp> HubsOf(const Problem& problem, TensorId tensor);

// The hub of least seconds among `hubs`, the wanted layouts and the stops on the way to them.
struct BestHub {
  NdSbp hub;           // equal to `written`: none is better
  double seconds = 0;  // in all; infinite when a wanted layout cannot be reached
};
// `wanted` are distinct and other than `written`.
BestHub FindBestHub(const TensorType& type, const NdSbp& written, std::span<const NdSbp> wanted,
                    std::span<const NdSbp> hubs, BoxingTable& boxing);

// Appends the transitions that meet `demands` (ordered by `first`, layouts distinct and other than `written`) in the
// order in which they run. A hub that nobody wants is a transition without consumers. Error (kNoPlan): a layout cannot
// be reached.
Status MakeTransitions(TensorId tensor, const Tensor& facts, const NdSbp& written, const std::vector<Demand>& demands,
                       std::span<const NdSbp> hubs, BoxingTable& boxing, std::vector<TimedTransition>& out);

}  // namespace sbp
