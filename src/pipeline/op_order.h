// The order of a step's ops: what is read late may wait for what hides it.
#pragma once

#include <functional>

#include "base/status.h"
#include "pipeline/request.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "rule/rule_set.h"

namespace sbp {

// A request's plan in the order of its graph's ops, and the problem that a plan answers.
using PlanInOrder = std::function<Result<Plan>(PlanRequest request, const StageObserver& observer)>;
using ProblemOfPlan = std::function<Result<Problem>(const Plan& plan, const RuleSet& rules)>;

// Plans in the given order; then, as long as the step gets shorter by half a percent and more, in an order that suits
// the plan found (late_reads.h), beginning from that plan. With a memory limit, plans fit it as any; without, another
// order's plan takes no more than the device holds, or than the given order's. A limit of time is shared: 0.6 for the
// given order. Where steps are measured by sums of prices, order is of no matter and stays. Interrupted: the best plan
// so far. The bound of schedules is of the order that the plan is in. Errors: those of the given order.
Result<Plan> PlanInShorterOrder(PlanRequest request, const PlanInOrder& plan_in_order, const ProblemOfPlan& problem_of,
                                const StageObserver& observer);

}  // namespace sbp
