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
  std::vector<bool> free_ops = {};   // per op: what it computes costs nothing; empty: no op is

  bool plain() const { return sent == 1 && local == 1 && sent_of.empty() && free_ops.empty(); }
  double SentOf(TensorId tensor) const { return sent_of.empty() ? sent : sent_of[tensor.index()]; }
  bool IsFree(OpId op) const { return !free_ops.empty() && free_ops[op.index()]; }
};

// Seconds of a path, its steps between devices and its local ones weighted.
inline double WeightedSeconds(const BoxingPath& path, double sent, double local) {
  if (sent == 1 && local == 1) return path.seconds;
  double seconds = 0;
  for (const BoxingStep& step : path.steps) seconds += step.seconds * (RowOf(step.kind).local ? local : sent);
  return seconds;
}

}  // namespace sbp
