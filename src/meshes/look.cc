#include "meshes/look.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/checked_math.h"
#include "base/ids.h"
#include "pipeline/pipeline.h"
#include "pipeline/request.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "schedule/schedule.h"
#include "search/solve.h"
#include "strategy/evaluate.h"
#include "strategy/optimal/candidate_lists.h"
#include "strategy/optimal/layout_bound.h"
#include "strategy/optimal/layout_network.h"
#include "strategy/optimal/network_size.h"
#include "strategy/optimal/schedule_bound.h"
#include "strategy/optimal/smallest_plan.h"
#include "strategy/optimal/start.h"
#include "strategy/strategy.h"

namespace sbp {
namespace {

constexpr double kEffort = 0.1, kEffortOfSchedules = 0.02;
constexpr double kEffortOfLarge = 0.5;        // of the bound of schedules
constexpr int64_t kWorkOfSums = 300'000'000;  // of LayoutBound, by sums: as much
constexpr double kGap = 0.003;                // of the relaxed problem: what is good enough for a look
constexpr int64_t kPatience = 16;             // steps of the dual without a gain, under a memory limit
constexpr double kRoom = 0.8;                 // of the limit: it hardly presses where a plan peaks at that
constexpr double kRounding = 1e-9;            // what sums of doubles may be off
constexpr double kNoCandidate = std::numeric_limits<double>::infinity();
constexpr std::string_view kFirst[] = {"einsum", "replicate"};

class Looker {
 public:
  Looker(PosedProblem& posed, const StrategyOptions& strategy, const std::function<bool()>& cancelled, Look look = {})
      : posed_(posed), problem_(posed.problem), strategy_(strategy), cancelled_(cancelled), look_(std::move(look)) {
    limit_ = std::exchange(posed.plan.options.memory_limit, std::nullopt);  // Evaluate would refuse what is above it
  }

  Result<Look> Run(const LookOptions& options) {
    if (IsFarTooLarge()) return std::move(look_);
    SBP_ASSIGN_OR_RETURN(const CandidateLists all, CandidateLists::All(problem_));
    for (size_t o = 0; o < problem_.num_ops(); ++o) look_.work += static_cast<int64_t>(all.of(OpId(o)).size());
    look_.is_large = !FitsNetwork(problem_, all, false);
    TryKnown(options.coarser);
    if (look_.is_large) {
      BoundLarge(all, options);
    } else {
      if (options.known_seconds) cutoff_ = SumFor(*options.known_seconds * (1 - options.gap), options.schedules);
      SBP_RETURN_IF_ERROR(Relax());
    }
    if (options.schedules && !look_.proved_too_large) SBP_RETURN_IF_ERROR(LookAtSchedules());
    if (options.schedules && look_.is_large && look_.known) {
      Bound(std::min(options.enough, look_.known_schedule), options.gap, kEffortOfLarge);
    }
    return std::move(look_);
  }

  // Of the plan known, which is made again.
  Result<Look> BoundSchedulesOf(double enough, double gap) {
    if (!look_.known) return std::move(look_);
    const KnownPlan known = *std::exchange(look_.known, std::nullopt);
    const KnownPlan* const only[] = {&known};
    const bool fits = look_.fits;
    const int64_t peak = look_.peak_bytes;
    TryKnown(only);
    if (look_.known) SBP_RETURN_IF_ERROR(BoundSchedulesOfKnown(enough, gap));
    look_.known = known;
    look_.fits = fits;
    look_.peak_bytes = peak;
    look_.is_schedule_bound_final = true;
    return std::move(look_);
  }

 private:
  // A plan is as good as it is priced; what cannot be priced is none. Does it fit?
  bool Offer(const Assignment& assignment) {
    Plan& plan = posed_.plan;
    if (!Evaluate(problem_, assignment, plan, {.reasons = false, .memory = limit_.has_value()}).ok()) return false;
    const int64_t peak = plan.memory.peak_bytes, excess = limit_ ? std::max<int64_t>(0, peak - *limit_) : 0;
    const double seconds = plan.total.seconds();
    if (look_.known && std::tie(excess_, look_.known->seconds) <= std::tie(excess, seconds)) return excess == 0;
    look_.known = KnownPlanOf(problem_, assignment, seconds);
    assignment_ = assignment;
    look_.peak_bytes = peak;
    look_.fits = excess == 0;
    excess_ = excess;
    return excess == 0;
  }

  // Tensors alone, each as small as it can be, take more than the limit: that is quickly seen.
  bool IsFarTooLarge() {
    if (!limit_) return false;
    look_.least_peak_bytes = LeastPeakOfTensors(problem_, kInt64Max);
    look_.proved_too_large = look_.least_peak_bytes > *limit_;
    return look_.proved_too_large;
  }

  // Of each coarser plan, and of the one to start from, what it becomes here, ops that cannot follow it as a simple
  // strategy has them.
  void TryKnown(std::span<const KnownPlan* const> coarser) {
    const bool starts = !strategy_.start_signatures.empty();
    if (coarser.empty() && !starts) return;
    StrategyOptions options = strategy_;
    Result<Assignment> otherwise = NoPlan("none yet");
    for (const std::string_view name : kFirst) {
      if (!otherwise.ok()) otherwise = (*FindStrategy(name))->solve(problem_, options);
    }
    if (!otherwise.ok()) return;
    if (starts) {
      if (const Result<Assignment> near = AssignmentNearStart(problem_, options, *otherwise); near.ok()) Offer(*near);
    }
    for (const KnownPlan* plan : coarser) {
      BeginFrom(*plan, problem_.mesh, options);
      if (const Result<Assignment> refined = AssignmentNearStart(problem_, options, *otherwise); refined.ok()) {
        Offer(*refined);
      }
    }
  }

  // Without the limit first, which takes a fraction of the time: a bound without it holds with it, and a plan that fits
  // is one. Where the limit presses, the bound says what it costs.
  Status Relax() {
    if (limit_) {
      SBP_ASSIGN_OR_RETURN(const bool fits, Relax(std::nullopt));
      if (fits) return OkStatus();
    }
    return Relax(limit_).status();
  }

  // Is there a plan that fits?
  Result<bool> Relax(std::optional<int64_t> limit) {
    SBP_ASSIGN_OR_RETURN(const LayoutNetwork relaxed,
                         LayoutNetwork::Build(problem_, {.memory_limit = limit, .relaxed = true}));
    SolveOptions options;
    options.effort = kEffort;
    options.threads = 1;
    options.gap = kGap;
    options.stop = cancelled_;
    options.cutoff = cutoff_;
    if (limit) options.patience = kPatience;
    const SolveResult solved = Solve(relaxed.network(), options);
    look_.proved_too_large = limit && solved.proved_infeasible;
    if (solved.proved_infeasible) return false;
    look_.bound = std::max(look_.bound, solved.lower_bound);
    if (!limit) look_.free_bound = solved.lower_bound;
    if (solved.evaluation.forbidden) return false;
    Assignment assignment;
    relaxed.Read(solved.choice, assignment);
    return Offer(assignment);
  }

  // The bound of sums from which on no step is shorter than `seconds`; of schedules by BoundBySums, whose two forms are
  // linear in it.
  double SumFor(double seconds, bool schedules) const {
    if (!schedules) return seconds;
    const double overlap = problem_.boxing->cluster().device.overlap.value;
    const double alike = seconds * (1 + overlap);
    const double other = overlap < 1 ? (seconds - BoundBySums(problem_, 0)) / (1 - overlap) : alike;
    return std::min(alike, other) * (1 + kRounding);
  }

  // Of the plan known, and the bound: where the network is too large for one, what is computed at least is one of
  // schedules, too.
  Status LookAtSchedules() {
    look_.schedule_bound = look_.is_large ? look_.bound : 0;
    look_.free_schedule_bound = look_.is_large ? look_.free_bound : BoundBySums(problem_, look_.free_bound);
    look_.is_schedule_bound_final = look_.is_large || !look_.known;
    if (!look_.known) return OkStatus();
    Plan& plan = posed_.plan;
    SBP_RETURN_IF_ERROR(Evaluate(problem_, assignment_, plan, {.reasons = false, .ahead = true}));
    look_.known_schedule = MakeSchedule(plan).summary.step;
    if (!look_.is_large) look_.schedule_bound = BoundBySums(problem_, look_.bound);
    return OkStatus();
  }

  Status BoundSchedulesOfKnown(double enough, double gap) {
    SBP_RETURN_IF_ERROR(Evaluate(problem_, assignment_, posed_.plan, {.reasons = false, .ahead = true}));
    Bound(enough, gap, kEffortOfSchedules);
    return OkStatus();
  }

  // Of the plan that is evaluated.
  void Bound(double step, double gap, double effort) {
    StrategyOptions search = strategy_;
    const bool has_room = limit_ && static_cast<double>(look_.peak_bytes) <= kRoom * static_cast<double>(*limit_);
    search.memory_limit = has_room ? std::nullopt : limit_;  // a bound without it holds with it
    search.cancelled = cancelled_;
    search.values["threads"] = int64_t{1};
    const ScheduleBoundOptions options = {
        .effort = effort, .gap = gap, .step = step, .sum_bound = look_.bound, .start = &assignment_};
    const double seconds = BoundSchedules(problem_, posed_.plan, options, search).seconds;
    look_.schedule_bound = std::max(look_.schedule_bound, seconds);
    // LayoutBound knows of no limit.
    const bool is_free = look_.free_bound == look_.bound && (look_.is_large || !search.memory_limit);
    if (is_free) look_.free_schedule_bound = std::max(look_.free_schedule_bound, seconds);
  }

  // Compute alone, each op as cheap as it can be; an op whose list was cut may have cheaper candidates. By sums, what
  // LayoutBound knows too.
  void BoundLarge(const CandidateLists& all, const LookOptions& options) {
    double seconds = 0;
    for (size_t o = 0; o < problem_.num_ops(); ++o) {
      const OpId op(o);
      if (problem_.candidates(op).truncated) continue;
      double least = kNoCandidate;
      for (const uint32_t candidate : all.of(op)) least = std::min(least, problem_.ComputeSeconds(op, candidate));
      seconds += least;
    }
    look_.bound = look_.free_bound = seconds * (1 - kRounding);
    if (options.schedules || !look_.known) return;
    const double known = look_.known->seconds;
    LayoutBound bound(problem_, all, known);
    bound.Ascend(kWorkOfSums, cancelled_, std::min(options.enough, known) * (1 - options.gap));
    look_.bound = look_.free_bound = std::max(look_.bound, bound.bound());
  }

  PosedProblem& posed_;
  const Problem& problem_;
  const StrategyOptions& strategy_;
  const std::function<bool()>& cancelled_;
  std::optional<int64_t> limit_;
  Look look_;
  Assignment assignment_;                                    // look_.known's
  int64_t excess_ = 0;                                       // of look_.known, above the limit
  double cutoff_ = std::numeric_limits<double>::infinity();  // of sums: from such a bound on, nothing here is of use
};

Result<std::unique_ptr<PosedProblem>> Pose(PlanRequest request, const std::function<bool()>& cancelled) {
  StageObserver observer;
  observer.cancelled = cancelled;
  return PoseProblem(std::move(request), observer);
}

}  // namespace

Result<Look> LookAt(PlanRequest request, const LookOptions& options) {
  const StrategyOptions strategy = request.strategy;
  SBP_ASSIGN_OR_RETURN(const std::unique_ptr<PosedProblem> posed, Pose(std::move(request), options.cancelled));
  return Looker(*posed, strategy, options.stop ? options.stop : options.cancelled).Run(options);
}

Status BoundSchedulesOn(PlanRequest request, double enough, double gap, const std::function<bool()>& cancelled,
                        Look& look) {
  if (look.is_schedule_bound_final) return OkStatus();
  const StrategyOptions strategy = request.strategy;
  SBP_ASSIGN_OR_RETURN(const std::unique_ptr<PosedProblem> posed, Pose(std::move(request), cancelled));
  SBP_ASSIGN_OR_RETURN(look, Looker(*posed, strategy, cancelled, look).BoundSchedulesOf(enough, gap));
  return OkStatus();
}

}  // namespace sbp
