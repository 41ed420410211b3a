// Sums over a plan that several reports print.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace sbp {

struct CollectiveSum {
  int64_t count = 0;
  double bytes = 0;  // moved by all ranks together
  double seconds = 0;
};
// Steps without wire traffic (slice, fill, pad) are left out.
std::map<CollectiveKind, CollectiveSum> SumCollectives(const Plan& plan);

// The steps without wire traffic, all kinds together; bytes stay 0.
CollectiveSum SumLocalCopies(const Plan& plan);

// Equal collectives of equal tensors, as repeated layers make them; `first` stands for all.
struct CollectiveGroup {
  const Transition* first = nullptr;
  int64_t count = 0;
  double seconds = 0, bytes = 0;  // of all
};
// By total time, dearest first; equal ones in the plan's order.
std::vector<CollectiveGroup> GroupCollectives(const Plan& plan);

// "all-reduce over model, then slice over data".
std::string DescribeSteps(const Plan& plan, const Transition& transition);

// A range-checked name, for plans that nobody checked.
std::string TensorName(const Plan& plan, TensorId tensor);

// Rows of cells as aligned lines, each starting with `indent` blanks; right[i] sets column i to the right.
std::string AlignColumns(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right,
                         size_t indent);

}  // namespace sbp
