// Weighted prices: the same problem where seconds of one kind count more than those of another. What a step's schedule
// takes is no sum of prices; bounds of it (schedule_bound.h) and the search for a short one (overlap_search.h) ask for
// the best plan by sums that are weighted so.
#pragma once

#include <vector>

#include "base/ids.h"
#include "boxing/boxing.h"
#include "cost/collective.h"

namespace sbp {

// Factors of at least 0. All 1: the step time.
struct PriceWeights {
  double sent = 1;                   // of boxing between devices
  double local = 1;                  // of boxing that moves nothing between devices, and of cuts of kernel groups
  std::vector<double> sent_of = {};  // per tensor, in place of `sent`; empty: all alike. Ties join equal ones
  std::vector<double> of_ops = {};   // per op: of what it computes; empty: 1
  // What is sent for a tensor's early reader, or on the way to it, counts `sent_early`, per tensor and no less than
  // sent_of: less may be computed beside it (schedule_forms.h). Empty: none has such a reader.
  std::vector<double> sent_early = {};
  std::vector<OpId> early_reader = {};  // per tensor

  double SentOf(TensorId tensor) const { return sent_of.empty() ? sent : sent_of[tensor.index()]; }
  double SentEarlyOf(TensorId tensor) const { return sent_early.empty() ? SentOf(tensor) : sent_early[tensor.index()]; }
  double OfOp(OpId op) const { return of_ops.empty() ? 1 : of_ops[op.index()]; }
  bool IsEarly(OpId op, TensorId tensor) const { return !sent_early.empty() && early_reader[tensor.index()] == op; }
};

// Seconds of a path, its steps between devices and its local ones weighted; infinity where there is no path.
inline double WeightedSeconds(const BoxingPrice& price, double sent, double local) {
  if (!price.reachable || (sent == 1 && local == 1)) return price.seconds;
  return (price.seconds - price.local_seconds) * sent + price.local_seconds * local;
}

}  // namespace sbp
