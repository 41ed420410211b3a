#include "pipeline/op_order.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "pipeline/late_reads.h"
#include "pipeline/stage.h"
#include "plan/reorder.h"
#include "problem/problem.h"
#include "schedule/measure.h"
#include "schedule/schedule.h"
#include "strategy/known_plan.h"
#include "strategy/optimal/search_options.h"
#include "strategy/strategy.h"

namespace sbp {
namespace {

constexpr double kLeastShortening = 0.005;       // of the step
constexpr double kLeastOfMore = 0.002;           // likewise, by more products that wait
constexpr size_t kWaiting[] = {1, 2, 4, 8, 16};  // products
constexpr int kMostOrders = 3;
constexpr double kShareOfGivenOrder = 0.6;  // of a limit of time
constexpr int kStagesOfPlan = 4;            // graph, problem, strategy, evaluate: strategies that reorder have bounds

// The order of the shortest step; nothing: the plan's own.
std::optional<std::vector<OpId>> BestOrder(const Problem& problem, const Plan& plan) {
  const ScheduleSummary summary = MakeSchedule(plan).summary;
  if (summary.exposed < kLeastShortening * summary.step) return std::nullopt;
  std::optional<std::vector<OpId>> best;
  double least = summary.step * (1 - kLeastShortening);
  for (const size_t most : kWaiting) {
    std::vector<OpId> order = OrderWithLateReads(problem, plan, most);
    const double found = MakeSchedule(Reordered(plan, order)).summary.step;
    if (found >= least) continue;
    best = std::move(order);
    least = found * (1 - kLeastOfMore);
  }
  return best;
}

// What the request asks beyond the first plan, which has seen where else a search may begin. Limits of time are shared.
PlanRequest RequestOfMoreOrders(PlanRequest& request) {
  PlanRequest more = request;
  const SearchOptions search = SearchOptionsOf(request.strategy);
  if (search.seconds > 0) {
    request.strategy.values["time"] = kShareOfGivenOrder * search.seconds;
    more.strategy.values["time"] = (1 - kShareOfGivenOrder) / kMostOrders * search.seconds;
  }
  more.num_ways = 0;
  more.start.reset();
  more.begins_coarser = false;
  more.strategy.found = nullptr;
  return more;
}

bool MemoryAllows(const Plan& given, const Plan& moved) {
  if (given.options.memory_limit) return true;  // what does not fit is no plan
  const auto capacity = static_cast<int64_t>(given.cluster.device.memory_bytes.value);
  return moved.memory.peak_bytes <= std::max(capacity, given.memory.peak_bytes);
}

// The plan in that order; nothing: there is none, or none that is shorter.
std::optional<Plan> ShorterPlan(PlanRequest request, const Plan& given, const std::vector<OpId>& order,
                                const PlanInOrder& plan_in_order, const StageObserver& observer) {
  const Plan begin = Reordered(given, order);
  request.graph = begin.graph;
  BeginFrom(KnownPlanOf(begin), begin.mesh, request.strategy);
  // Sums of prices do not depend on the order, but what fits a limit does.
  const bool keeps_bound = given.has_bound && !given.options.memory_limit;
  if (keeps_bound) request.strategy.start_bound_seconds = given.lower_bound_seconds;
  Result<Plan> moved = plan_in_order(std::move(request), {.cancelled = observer.cancelled});
  if (!moved.ok() || !MemoryAllows(given, *moved)) return std::nullopt;
  if (keeps_bound && moved->kernels != begin.kernels) return std::nullopt;  // the bound is of prices of other kernels
  const StepMeasure measure = MeasureOf(given);
  if (StepSeconds(*moved, measure) > StepSeconds(given, measure) * (1 - kLeastShortening)) return std::nullopt;
  return *std::move(moved);
}

}  // namespace

Result<Plan> PlanInShorterOrder(PlanRequest request, const PlanInOrder& plan_in_order, const ProblemOfPlan& problem_of,
                                const StageObserver& observer) {
  const PlanRequest more = RequestOfMoreOrders(request);
  SBP_ASSIGN_OR_RETURN(Plan best, plan_in_order(std::move(request), observer));
  if (MeasureOf(best) != StepMeasure::kSchedule) return best;
  const auto shorten = [&]() -> Status {
    for (int i = 0; i < kMostOrders; ++i) {
      if (observer.cancelled && observer.cancelled()) break;
      SBP_ASSIGN_OR_RETURN(const Problem problem, problem_of(best, *more.rules));
      const std::optional<std::vector<OpId>> order = BestOrder(problem, best);
      if (!order) break;
      std::optional<Plan> shorter = ShorterPlan(more, best, *order, plan_in_order, observer);
      if (!shorter) break;
      best = *std::move(shorter);
    }
    return OkStatus();
  };
  SBP_RETURN_IF_ERROR(
      StageRunner(observer, kStagesOfPlan).RunToTheEnd("order", shorten, [&] { return sbp::Dump(best); }));
  return best;
}

}  // namespace sbp
