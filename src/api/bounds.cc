#include "api/bounds.h"

#include <algorithm>
#include <cstddef>

#include "base/ids.h"
#include "pipeline/pipeline.h"
#include "problem/problem.h"
#include "sbp/sbp.h"
#include "schedule/schedule.h"
#include "strategy/evaluate.h"
#include "strategy/strategy.h"

namespace sbp {
namespace {

constexpr double kRoundingOfBounds = 1e-9;  // relative

class Deriver {
 public:
  Deriver(const Plan& plan, const Problem& problem, const StrategyOptions& options)
      : plan_(plan), problem_(problem), options_(options) {
    if (plan.has_bound) sum_ = {"lower bound", plan.lower_bound_seconds, 0, plan.total.seconds()};
    if (plan.schedule_bound_seconds) {
      schedule_ = {"bound of schedules", *plan.schedule_bound_seconds, 0, MakeSchedule(plan).summary.step};
    }
  }

  // As a search that knows nothing, and where that proves less, as one that begins with the plan.
  Result<std::vector<DerivedBound>> Run() {
    SBP_RETURN_IF_ERROR(Search());
    if (!sum_.holds() || !schedule_.holds()) {
      for (size_t o = 0; o < plan_.graph.ops.size(); ++o) {
        options_.start_signatures.emplace_back(plan_.decision(OpId(o)).signature);
      }
      for (const NdSbp& layout : plan_.source_layouts) options_.start_sources.emplace_back(layout);
      SBP_RETURN_IF_ERROR(Search());
    }
    std::vector<DerivedBound> bounds;
    for (const DerivedBound& bound : {sum_, schedule_}) {
      if (!bound.what.empty()) bounds.push_back(bound);
    }
    return bounds;
  }

 private:
  Status Search() {
    const auto searches = std::ranges::find_if(AllStrategies(), [](const StrategyRow& row) { return row.has_bound; });
    SBP_ASSIGN_OR_RETURN(const Assignment found, searches->solve(problem_, options_));
    Plan known;
    known.graph = plan_.graph;
    known.mesh = plan_.mesh;
    known.cluster = plan_.cluster;
    known.options = plan_.options;
    SBP_RETURN_IF_ERROR(Evaluate(problem_, found, known, {.reasons = false, .ahead = true}));
    sum_.derived = std::max(sum_.derived, found.lower_bound_seconds);
    sum_.reached = std::min(sum_.reached, known.total.seconds());
    schedule_.derived = std::max(schedule_.derived, found.schedule_bound_seconds.value_or(0));
    schedule_.reached = std::min(schedule_.reached, MakeSchedule(known).summary.step);
    return OkStatus();
  }

  const Plan& plan_;
  const Problem& problem_;
  StrategyOptions options_;
  DerivedBound sum_, schedule_;  // without a name: not stated
};

}  // namespace

bool DerivedBound::holds() const { return derived >= stated * (1 - kRoundingOfBounds); }
bool DerivedBound::is_false() const { return reached < stated * (1 - kRoundingOfBounds); }

Result<std::vector<DerivedBound>> DeriveBounds(const Plan& plan, const RuleSet& rules, double effort,
                                               const std::function<bool()>& cancelled) {
  if (!plan.has_bound && !plan.schedule_bound_seconds) return std::vector<DerivedBound>();
  SBP_ASSIGN_OR_RETURN(const Problem problem, RebuildProblem(plan, rules));
  StrategyOptions options;
  options.memory_limit = plan.options.memory_limit;
  options.prefetch = plan.options.prefetch;
  options.only_bound = true;
  options.values["effort"] = effort;
  options.cancelled = cancelled;
  return Deriver(plan, problem, options).Run();
}

}  // namespace sbp
