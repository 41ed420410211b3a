// Sums over a plan that several reports print.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "cluster/collective_kind.h"
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

// A scope with the numbers of repeated layers as '*': "layers.3/mlp" is "layers.*/mlp".
std::string RepeatedScope(std::string_view scope);

// What the step takes in the arena of `--physical` (StepInArena), where the plan's own schedule is without one.
// Nothing: that is the plan's own schedule, or the graph is too large to make an arena only to know.
std::optional<double> SecondsInArena(const Plan& plan);

// Where a step's time goes: by the types of ops, compute alone; by RepeatedScope, with the collectives for the ops in
// it. Largest first, equal ones by name.
struct TimeShare {
  std::string name;
  int64_t ops = 0;
  double compute_seconds = 0, collective_seconds = 0;  // collectives with local slices and copies
  double local_seconds = 0;                            // of these alone, by phase
  double seconds() const { return compute_seconds + collective_seconds; }
  double wire_seconds() const {  // what is left is rounding where all copies are local
    const double wire = collective_seconds - local_seconds;
    return wire > 1e-9 * collective_seconds ? wire : 0;
  }
};
inline constexpr std::string_view kAgainPhase = "again";  // of TimeByPhase
std::vector<TimeShare> TimeByType(const Plan& plan);
std::vector<TimeShare> TimeByScope(const Plan& plan);
// Of a training step: forward, again (what the backward pass computes again, graph/again.h), backward without that,
// optimizer, in this order (graph/phases.h); those that have ops. Empty where all ops are of one.
std::vector<TimeShare> TimeByPhase(const Plan& plan);
// What a training step computes again.
struct AgainSum {
  int64_t ops = 0;
  int64_t bytes = 0;   // that devices write for it: each device's parts of results, but for those inside kernel groups
  double seconds = 0;  // of its ops, and of boxing for them
};
AgainSum SumAgain(const Plan& plan);
// What the peak is made of, by name, in the order of printing: of a training step as memory/training.h says, else as
// MemorySummary. The workspace of kernels comes besides.
std::vector<std::pair<std::string_view, int64_t>> PartsOfPeak(const Plan& plan);
// What of the step's seconds its section of micro-batches takes, all of them together (graph/sections.h).
double SecondsOfMicroBatches(const Plan& plan);

// Rows of cells as aligned lines, each starting with `indent` blanks; right[i] sets column i to the right.
std::string AlignColumns(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right,
                         size_t indent);

}  // namespace sbp
