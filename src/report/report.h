// Reports: structured facts of a plan, printed as text or JSON. Nothing here decides anything.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "meshes/choose.h"
#include "plan/plan.h"
#include "sbp/shard_math.h"

namespace sbp {

// The human summary that `infer` prints: the time of the step as it is executed (with the physical part of the plan,
// where it has one, as `run --backend fake` plays it), the sum of prices split into compute and collectives,
// collectives by kind, the five dearest with their reasons, time by op type and by scope, peak memory split and its
// largest holders, replicated tensors, warnings.
struct SummaryOptions {
  Notation notation = Notation::kSbp;
  size_t dearest = 5;
  size_t shares = 4;  // op types, and scopes, of which the time is listed
  // Said where the search was cut short and the gap is above its goal: what may close it, such as "--effort 20".
  double goal_gap = 0;
  std::string more_effort;
};
std::string FormatSummary(const Plan& plan, const SummaryOptions& options = {});
// Its totals, a row each: "step time", "11.5 ms", and what that is made of and how far from the best it may be. Names
// of what is part of the row before begin with two spaces.
std::vector<std::vector<std::string>> TotalRows(const Plan& plan, const SummaryOptions& options = {});
// One JSON document for `infer --format json`: ops, collectives, seconds_per_step, bytes_moved, peak_bytes,
// lower_bound_seconds, gap, replicated, timings (stage -> seconds; names that end in _bytes: bytes, as integers),
// warnings, and more. Local steps are no collectives. `schedule`: the step as it is executed on two streams, in
// seconds: seconds = compute_seconds + slowed_seconds + exposed_seconds + idle_seconds, and collective_seconds
// (schedule/schedule.h), with the bound of all schedules and the gap to it, which seconds_per_step, lower_bound_seconds
// and gap repeat; `sum`: of all prices added up, likewise; `measure` ("schedule", "sum") says which of both plans are
// compared by (schedule/measure.h). Where the mesh was chosen, `meshes`: a row a mesh, in the order of FormatMeshes,
// with both bounds, `meshes_measure`, and both bounds of all meshes.
std::string SummaryJson(const Plan& plan, const std::map<std::string, double>& timings,
                        const MeshChoice* choice = nullptr);

// A choice among meshes: a line a mesh, with bound and gap of what meshes are compared by; then why the best is best:
// what makes the next best dearer, by compute and kind of collective, and its dearest collective; and how far any mesh
// that was tried may be better.
std::string FormatMeshes(const MeshChoice& choice);

// In a line: "of 16 meshes 1 planned, 15 pruned; data=2,model=8 in 885 ms, none is better by more than 0.7 %".
std::string SumUpMeshes(const MeshChoice& choice);

// diff: by meaning.
struct PlanDifference {
  std::string where, what, expected, found;  // expected: the first plan's
  std::string scope;                         // as RepeatedScope has it, of what lies in one; for text
  std::string label;                         // `where` for people: with module or scope beside the name; "": `where`
};
struct DiffOptions {
  double tolerance = 0;  // relative, for seconds and bytes
  Notation notation = Notation::kSbp;
};
std::vector<PlanDifference> DiffPlans(const Plan& a, const Plan& b, const DiffOptions& options);
// Step time, collectives by kind, bytes and peak of both plans, one beside the other; where most names of ops differ,
// as of two spellings of one model, also those that have no counterpart of their price (diff_spellings.h).
std::string FormatTotals(const Plan& a, const Plan& b);
// A group for each kind of difference: up to `limit` one by one, more by scope, at most `limit` scopes, with one of
// each. Times of ops whose signature differs too are left out, and totals, which FormatTotals has.
std::string FormatDifferences(const std::vector<PlanDifference>& differences, size_t limit = 6);
std::string DifferencesJson(const std::vector<PlanDifference>& differences);

// compare: several plans of one model side by side.
struct ComparedPlan {
  std::string name;            // the strategy as asked: "greedy", "greedy/order-value"; of several meshes, and the mesh
  const Plan* plan = nullptr;  // nullptr: there is none
  std::string failure;         // then why
  double planning_seconds = 0;
  std::string mesh;
};
// One line a plan: the step as it is executed, the sum of prices, compute, collectives, bytes moved, peak, bound, gap;
// the fastest is marked. Bound, gap and the fastest are by the measure of the plans (schedule/measure.h).
std::string FormatComparison(std::span<const ComparedPlan> plans);
// {"plans": [{"strategy", "seconds_per_step", ..., "error"}]}: the numeric fields of row `infer`.
std::string ComparisonJson(std::span<const ComparedPlan> plans);

// How far the schedule of a plan, which takes `step` seconds, may be from the shortest one: as GapOf. Requires
// schedule_bound_seconds.
double ScheduleGapOf(const Plan& plan, double step);

// How far a plan may be from the best one: (seconds - bound) / seconds; 0 for a plan without cost. Requires has_bound.
double GapOf(const Plan& plan);

// The gap of what plans are compared by (schedule/measure.h), as the summary prints it: "8.9 %"; "": no bound is known.
std::string GapText(const Plan& plan);

}  // namespace sbp
