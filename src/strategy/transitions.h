// The transitions of one tensor: every layout that somebody wants, each reached once. Paths start at the layout in
// which the tensor was written or at its hub: one more layout in which it stands, chosen so that the sum of seconds is
// least. (P(sum) -> S(0) -> B: who wants S(0) and who wants B share the reduce-scatter.) Trees with more than one hub
// would save a little more now and then; with one, a sum over pairs of nodes prices them exactly (strategy/optimal).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "boxing/boxing.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "sbp/sbp.h"

namespace sbp {

// A layout that somebody wants, and when the first of them runs (op index; the number of ops: the end of the step).
struct Demand {
  NdSbp layout;
  std::vector<Use> consumers;
  uint32_t first = 0;
  std::string by = {};  // who else wants it, for reasons: "the tie to \"w\""
};

// All that is wanted of one tensor (problem/demands.h says what written and standing are).
struct TensorDemands {
  NdSbp written, standing;
  std::vector<Demand> boxed;  // distinct layouts other than `standing`
  // Those who take it as it stands, made where that is not as it was written; `first`: of all demands, boxed ones too.
  Demand as_it_stands;
  bool wanted = false;       // by anybody
  bool not_partial = false;  // in the end
};

// A transition and when it runs.
struct TimedTransition {
  Transition transition;
  uint32_t time = 0;
  std::string by = {};  // Demand::by
};

// Layouts that may be a tensor's hub whatever is chosen: those that a candidate of a reader wants. Distinct, in order
// of appearance.
std::vector<NdSbp> HubsOf(const Problem& problem, TensorId tensor);

// The hub of least seconds among `hubs`, the wanted layouts and the stops on the way to them.
struct BestHub {
  NdSbp hub;           // equal to `from`: none is better
  double seconds = 0;  // in all; infinite when a wanted layout cannot be reached
};
// Paths start from `from`, the standing layout; `wanted` are distinct and other than it. `not_partial`: the tensor must
// end without P; where none of these layouts is so, one more is made, from `from` or from the hub (FindCheapestEnd).
BestHub FindBestHub(const TensorType& type, const NdSbp& from, std::span<const NdSbp> wanted,
                    std::span<const NdSbp> hubs, BoxingTable& boxing, bool not_partial = false);

// A layout that is wanted, and how often a step makes it (plan/transition_runs.h). 0: only for the tensor's end.
struct CountedLayout {
  NdSbp layout;
  int64_t runs = 0;
  friend bool operator==(const CountedLayout&, const CountedLayout&) = default;
};
// What a step takes for all transitions of a tensor, each as often as what it serves; the hub is that of FindBestHub.
// `wanted`: distinct, `standing` may be one. `end_runs`: how often the tensor's end is met. Infinite where a layout
// cannot be reached.
double SecondsOfStep(const TensorType& type, const NdSbp& written, const NdSbp& standing,
                     std::span<const CountedLayout> wanted, std::span<const NdSbp> hubs, BoxingTable& boxing,
                     bool not_partial, int64_t end_runs);

// Appends the transitions that meet `demands` (`boxed` ordered by `first`) in the order in which they run, and says how
// the tensor ends where it must not be partial (else `standing`). A hub that nobody wants, and an end, are transitions
// without consumers. Error (kNoPlan): a layout cannot be reached.
Status MakeTransitions(TensorId tensor, const Tensor& facts, const TensorDemands& demands, std::span<const NdSbp> hubs,
                       const Problem& problem, std::vector<TimedTransition>& out, NdSbp& end);

}  // namespace sbp
