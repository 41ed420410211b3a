#include "strategy/optimal/schedule_bound.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "boxing/boxing.h"
#include "cost/collective.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "search/solve.h"
#include "strategy/evaluate.h"
#include "strategy/optimal/candidate_lists.h"
#include "strategy/optimal/layout_bound.h"
#include "strategy/optimal/layout_network.h"
#include "strategy/optimal/network_size.h"
#include "strategy/optimal/price_weights.h"
#include "strategy/optimal/schedule_forms.h"
#include "strategy/optimal/search_options.h"
#include "strategy/strategy.h"

namespace sbp {
namespace {

constexpr double kWorkOfForm = 6e8;  // of LayoutBound, by unit of effort
constexpr int kTries = 2, kTriesOfFewOps = 6;
constexpr size_t kFewOpsToBound = 1500, kManyOpsToBound = 3000;
// Of the bound, and of large graphs of what is open, that another form may add.
constexpr double kWorthATry = 0.002, kWorthOfOpen = 0.05, kWorthOfOpenOfMany = 0.5;
constexpr double kRounding = 1e-12;      // of a sum
constexpr double kShareOfFormGap = 0.6;  // of the gap that is good enough, for the relaxed problem

double LeastCompute(const Problem& problem) {
  double seconds = 0;
  for (size_t o = 0; o < problem.num_ops(); ++o) {
    if (problem.candidates(OpId(o)).truncated) continue;  // what was cut off may take less
    const size_t candidates = problem.candidates(OpId(o)).candidates.size();
    double least = candidates > 0 ? problem.ComputeSeconds(OpId(o), 0) : 0;
    for (size_t c = 1; c < candidates; ++c) least = std::min(least, problem.ComputeSeconds(OpId(o), c));
    seconds += least;
  }
  return seconds * (1 - kRounding);
}

class Bounder {
 public:
  Bounder(const Problem& problem, const Plan& known, const ScheduleBoundOptions& options, const StrategyOptions& search)
      : problem_(problem),
        known_(known),
        options_(options),
        search_(search),
        all_(CandidateLists::All(problem)),
        forms_(options.forms != nullptr ? *options.forms : KnownForms(problem, known)) {}

  ScheduleBound Run() {
    found_.seconds = BoundBySums(problem_, options_.sum_bound);
    const bool few_ops = problem_.num_ops() < kFewOpsToBound;
    const int tries = std::min(options_.most_tries, few_ops ? kTriesOfFewOps : kTries);
    const double worth_of_open = few_ops ? 0 : problem_.num_ops() < kManyOpsToBound ? kWorthOfOpen : kWorthOfOpenOfMany;
    std::set<ScheduleForm> none;
    std::set<ScheduleForm>& tried = options_.tried != nullptr ? *options_.tried : none;
    for (int i = 0; i < tries; ++i) {
      if (IsNear() || (search_.cancelled && search_.cancelled())) break;
      const KnownForms::Highest next = MostPromising();
      const double least = std::max(kWorthATry * found_.seconds, worth_of_open * (options_.step - found_.seconds));
      if (next.seconds <= found_.seconds + least) break;
      ScheduleForm form = forms_.Between(best_form_, next.form);
      if (tried.contains(form)) form = next.form;
      if (!tried.insert(form).second) break;
      const double before = found_.seconds;
      Solve(forms_.WeightsOf(form));
      if (found_.seconds > before) best_form_ = form;
      if (!few_ops && found_.seconds <= before) break;  // the solver is too far from what the forms say
    }
    return std::move(found_);
  }

 private:
  bool IsNear() const { return options_.step - found_.seconds <= options_.gap * options_.step; }

  KnownForms::Highest MostPromising() const {
    const KnownForms::Highest without_local = forms_.MostPromising(false), with_local = forms_.MostPromising(true);
    return with_local.seconds > without_local.seconds ? with_local : without_local;
  }

  void Solve(const PriceWeights& weights) {
    if (!all_.ok()) return;
    if (!FitsNetwork(problem_, *all_, false)) {
      bound_of_form_ = LayoutBound(problem_, *all_, WeightedTotal(known_, weights), weights,
                                   bound_of_form_ ? &*bound_of_form_ : nullptr);
      bound_of_form_->Ascend(static_cast<int64_t>(kWorkOfForm * std::min(1.0, options_.effort)), search_.cancelled,
                             options_.step * (1 - options_.gap));
      found_.seconds = std::max(found_.seconds, bound_of_form_->bound());
      return;
    }
    const Result<LayoutNetwork> relaxed =
        LayoutNetwork::Build(problem_, {.memory_limit = search_.memory_limit, .relaxed = true, .weights = &weights});
    if (!relaxed.ok()) return;
    const SearchOptions given = SearchOptionsOf(search_);
    SolveOptions options;
    options.effort = options_.effort;
    options.threads = given.threads;
    options.seed = given.seed;
    options.stop = search_.cancelled;
    options.gap = kShareOfFormGap * options_.gap;
    if (options_.start != nullptr) {
      Result<std::vector<int32_t>> start = relaxed->Write(*options_.start);
      if (start.ok()) options.start = *std::move(start);
    }
    const SolveResult below = sbp::Solve(relaxed->network(), options);
    if (below.proved_infeasible) return;
    found_.seconds = std::max(found_.seconds, below.lower_bound);
    if (below.evaluation.forbidden) return;
    found_.plans.emplace_back();
    relaxed->Read(below.choice, found_.plans.back());
    Plan plan;
    plan.graph = known_.graph;
    plan.mesh = known_.mesh;
    plan.cluster = known_.cluster;
    const bool priced = Evaluate(problem_, found_.plans.back(), plan, {.reasons = false, .memory = false}).ok();
    if (priced) forms_.Add(plan);
  }

  const Problem& problem_;
  const Plan& known_;
  const ScheduleBoundOptions& options_;
  const StrategyOptions& search_;
  const Result<CandidateLists> all_;
  std::optional<LayoutBound> bound_of_form_;  // of the last one; the next begins with its messages
  KnownForms forms_;
  ScheduleForm best_form_ = forms_.Even();  // the best one tried
  ScheduleBound found_;
};

}  // namespace

double BoundBySums(const Problem& problem, double sum_bound) {
  const double overlap = problem.boxing->cluster().device.overlap.value;
  return std::max(sum_bound / (1 + overlap), overlap * LeastCompute(problem) + (1 - overlap) * sum_bound);
}

ScheduleBound BoundSchedules(const Problem& problem, const Plan& known, const ScheduleBoundOptions& options,
                             const StrategyOptions& search) {
  return Bounder(problem, known, options, search).Run();
}

}  // namespace sbp
