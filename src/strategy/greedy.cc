// greedy: visit the ops in topological order; each takes the candidate that the criterion likes best given what its
// producers wrote. One look at each op, no look ahead.
#include <string>

#include "base/status.h"
#include "base/text.h"
#include "problem/problem.h"
#include "strategy/all_strategies.h"
#include "strategy/strategy.h"
#include "strategy/walk.h"

namespace sbp {
namespace {

std::string ReasonFor(const CriterionQuery& query, const CriterionRow& criterion, const CriterionAnswer& answer) {
  const size_t all = query.list->candidates.size();
  if (all == 1) return "its only legal signature";
  if (query.allowed.size() == 1) return StrCat("the only one of ", all, " candidates that the pins allow");
  std::string reason =
      StrCat("least ", criterion.unit, " (", FormatDouble(answer.price), ") of ", query.allowed.size());
  reason += query.allowed.size() == all ? " candidates" : StrCat(" candidates that the pins allow, of ", all);
  if (answer.alternative >= 0) {
    reason += answer.alternative_price == answer.price ? "; ties go by registration order"
                                                       : StrCat("; next: ", FormatDouble(answer.alternative_price));
  }
  return reason;
}

constexpr StrategyOption kGreedyOptions[] = {
    {.name = "cost", .kind = OptionKind::kCriterion, .value_name = "NAME", .doc = "what is minimised"}};

Result<Assignment> SolveGreedy(const Problem& problem, const StrategyOptions& options) {
  SBP_ASSIGN_OR_RETURN(const CriterionRow* criterion, FindCriterion(options.criterion));
  const bool one_device = problem.mesh.num_devices() == 1;
  Walk walk(problem, options);
  const auto decide = [&](const CriterionQuery& query) {
    if (one_device) return DecideOnOneDevice(query);
    const CriterionAnswer answer = criterion->choose(query);
    return Walk::Decision{answer, ReasonFor(query, *criterion, answer)};
  };
  SBP_ASSIGN_OR_RETURN(Assignment assignment, walk.Run(InitialSourceLayouts(problem), decide));
  assignment.price_unit = criterion->unit;
  return assignment;
}

}  // namespace

StrategyRow GreedyStrategy() {
  return {.name = "greedy",
          .doc = "one walk in topological order; each op takes its best candidate by --cost",
          .options = kGreedyOptions,
          .unit = "",
          .has_bound = false,
          .solve = SolveGreedy};
}

}  // namespace sbp
