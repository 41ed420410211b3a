#include "strategy/optimal/optimal_search.h"

#include <cmath>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/text.h"
#include "strategy/evaluate.h"
#include "strategy/optimal/merged_axes.h"
#include "strategy/optimal/network_size.h"
#include "strategy/optimal/start.h"
#include "strategy/optimal/uniform.h"

namespace sbp {
namespace {

// Steps of the dual under a memory limit without a gain, by unit of effort and at least by one.
constexpr double kPatience = 16;
constexpr double kShareOfSearch = 0.6;  // of the time; the first search, which also finds the bound, takes no more
// Of each op, where not all can be looked at together; at first, where axes are merged and where there are none to.
// Four axes have so many layouts between which boxing is to be priced that fewer have to do.
constexpr size_t kMostCandidates = 24, kFirstOfMerged = 16, kFirstCandidates = 6;
constexpr size_t kMostOfManyAxes = 12, kFirstOfManyAxes = 8;
constexpr int kManyAxes = 4;
constexpr double kEffortOfFirstChosen = 0.3;                   // share of the effort
constexpr double kWorkOfBound = 6e8;                           // of LayoutBound, by unit of effort
constexpr double kEffortOfUniform = 0.5, kGapOfUniform = 0.3;  // of what the free search may take, and of its gap
constexpr double kLeastOfUniform = 0.15;                       // effort: the quotient's search is short
// Searches until a plan fits, by unit of effort and at least by one: so many, and as many as have so many ops together.
constexpr double kFewestUntilFit = 5, kOpsUntilFit = 50'000;
// Of so little effort in so many ops, from a plan known, a search among mixes would be hardly more than their network's
// reductions.
constexpr double kLittleEffort = 0.1;
constexpr size_t kManyOps = 3000;
// From so many ops on, under a limit, uniform plans will do where it is schedules that count; and gaps of their sums,
// by the gap that is good enough.
constexpr size_t kOpsToPreferUniform = 1000;
constexpr double kGapsOfBeginning = 3;
constexpr double kNear = 0.03;       // of a plan's seconds, above the bound
constexpr double kShareOfGap = 0.6;  // of the gap that is good enough, for the relaxed problem

// Another strategy, whose answer the search starts from and is never worse than.
struct Start {
  std::string_view strategy, criterion;
};
constexpr Start kStarts[] = {{"einsum", ""}, {"greedy", "time"}, {"greedy", "bytes"}, {"replicate", ""}};

}  // namespace

OptimalSearch::OptimalSearch(const Problem& problem, const StrategyOptions& options)
    : problem_(problem),
      options_(options),
      search_(SearchOptionsOf(options)),
      bound_(options.start_bound_seconds),
      effort_(search_.effort) {
  priced_.graph = *problem_.graph;
  priced_.mesh = problem_.mesh;
  priced_.cluster = problem_.boxing->cluster();
  if (search_.seconds <= 0) {
    const double ops = static_cast<double>(std::max<size_t>(1, problem_.num_ops()));
    searches_left_ = std::max(kFewestUntilFit, kOpsUntilFit / ops) * std::max(1.0, search_.effort);
    if (options_.num_ways > 0) searches_of_ways_ = searches_left_ / 2;
  }
}

Result<Assignment> OptimalSearch::Run() {
  SBP_RETURN_IF_ERROR(TryOthers());
  SBP_ASSIGN_OR_RETURN(const CandidateLists all, CandidateLists::All(problem_));
  const bool fits = FitsNetwork(problem_, all, false);
  if (fits && BeginsNear()) TryUniform();
  if (fits) {
    SBP_RETURN_IF_ERROR(Bound());
    if (nothing_fits_ && !options_.explains) return NothingFits();
  } else {
    SBP_RETURN_IF_ERROR(SearchChosen(all));
    if (BoundWillDo()) return Finish();
  }
  if (LeadsNowhere()) return NoPlan("this way leads nowhere");
  const bool has_uniform = uniform_ && (GoodEnough() || chosen_of_uniform_);
  if (!nothing_fits_ && search_.uniform >= 0 && !has_uniform) TryUniform();
  if (!UniformWillDo()) {
    if (!best_ || (!nothing_fits_ && !chosen_ && !GoodEnough())) SBP_RETURN_IF_ERROR(Improve());
    if (!nothing_fits_) SBP_RETURN_IF_ERROR(PriceCopies());
    SBP_RETURN_IF_ERROR(TryWays());
  }
  if (best_->excess > 0 && is_way_) return NoPlan("this way does not fit");
  if (best_->excess > 0) SBP_RETURN_IF_ERROR(Shrink());
  if (best_->excess > 0) return NothingFits();
  PreferUniform();
  return Finish();
}

Status OptimalSearch::Price(const Assignment& assignment) {
  return Evaluate(problem_, assignment, priced_,
                  {.reasons = false, .memory = options_.memory_limit.has_value(), .room = options_.memory_limit});
}

Status OptimalSearch::Offer(const Assignment& assignment) {
  SBP_RETURN_IF_ERROR(Price(assignment));
  const double seconds = priced_.total.seconds();
  const int64_t excess = std::max<int64_t>(0, Excess());
  Best offered{assignment, seconds, excess};
  if (searches_uniform_ && (!uniform_ || Better(offered, *uniform_))) uniform_ = offered;
  if (!best_ || Better(offered, *best_)) best_ = std::move(offered);
  return OkStatus();
}

Status OptimalSearch::TryOthers() {
  StrategyOptions options = options_;
  double fastest = kNoLimit;
  for (const Start& start : kStarts) {
    if (best_ && Cancelled()) break;
    if (!start.criterion.empty()) options.criterion = start.criterion;
    SBP_ASSIGN_OR_RETURN(const StrategyRow* row, FindStrategy(start.strategy));
    const Result<Assignment> assignment = row->solve(problem_, options);
    if (!assignment.ok()) continue;  // pins may exclude what it wants
    SBP_RETURN_IF_ERROR(Offer(*assignment));
    fastest = std::min(fastest, priced_.total.seconds());
    others_.push_back(*assignment);
  }
  if (!options_.start_signatures.empty() && best_) {
    SBP_ASSIGN_OR_RETURN(earlier_, AssignmentNearStart(problem_, options_, best_->assignment));
    if (!options_.start_waits) {
      SBP_RETURN_IF_ERROR(Offer(*earlier_));
      fastest = std::min(fastest, priced_.total.seconds());
    }
  }
  presses_ = !best_ || best_->excess > 0 || fastest < best_->seconds;
  return OkStatus();
}

// A bound over all candidates, and networks of the few that it favours: first of those that treat neighbouring axes
// alike, of which a few go a long way, then of any.
Status OptimalSearch::SearchChosen(const CandidateLists& all) {
  LayoutBound bound(problem_, all, best_ ? best_->seconds : SecondsOfFirst(all));
  const auto late = [this] {
    return Cancelled() || (search_.seconds > 0 && SecondsLeft() < (1 - kShareOfSearch) * search_.seconds);
  };
  bound.Ascend(static_cast<int64_t>(kWorkOfBound * std::min(1.0, search_.effort)), late,
               is_way_ ? most_seconds_ : kNoLimit);
  bound_ = std::max(bound_, bound.bound());
  if (LeadsNowhere()) return OkStatus();
  const bool mergeable = problem_.mesh.num_axes() > 2, many_axes = problem_.mesh.num_axes() >= kManyAxes;
  // What the search over meshes has looked at begins with plans of coarser ones, which are merged axes.
  if (best_ && options_.start_bound_seconds <= 0) {
    const CandidateLists merged = mergeable ? ListsOfMergedAxes(problem_, all) : all;
    effort_ = kEffortOfFirstChosen * search_.effort;
    const size_t first = many_axes ? kFirstOfManyAxes : mergeable ? kFirstOfMerged : kFirstCandidates;
    SBP_RETURN_IF_ERROR(SearchAmong(merged, all, bound, first));
  }
  effort_ = search_.effort;
  return BoundWillDo() ? OkStatus() : SearchAmong(all, all, bound, many_axes ? kMostOfManyAxes : kMostCandidates);
}

// The network of the `most` candidates of each op that seem best in `lists`, and of those of the plans known.
Status OptimalSearch::SearchAmong(const CandidateLists& lists, const CandidateLists& all, const LayoutBound& bound,
                                  size_t most) {
  if (chosen_ && best_ && GoodEnough()) return OkStatus();
  std::vector<Assignment> kept = others_;
  if (best_) kept.push_back(best_->assignment);
  const bool fits = best_ && best_->excess == 0;
  chosen_ = ChooseCandidates(problem_, all, lists, bound, fits ? best_->seconds : kNoLimit, kept, most);
  if (best_ && GoodEnough()) return OkStatus();
  const bool is_short = search_.effort <= kLittleEffort && problem_.num_ops() >= kManyOps;
  const bool goes_on = fits && is_short && search_.uniform >= 0 && options_.start_bound_seconds > 0;
  if (goes_on || PrefersUniform()) {
    TryUniform();
    chosen_of_uniform_ = uniform_ && uniform_->excess == 0;
    if (chosen_of_uniform_) return OkStatus();
  }
  return Improve();
}

// Of one choice, boxing left out: what seconds are measured by where no plan is known.
double OptimalSearch::SecondsOfFirst(const CandidateLists& lists) const {
  double seconds = 0;
  for (size_t o = 0; o < problem_.num_ops(); ++o)
    seconds += problem_.ComputeSeconds(OpId(o), lists.of(OpId(o)).front());
  return std::max(seconds, 1e-9);
}

LayoutNetworkOptions OptimalSearch::NetworkOptions(bool relaxed, double copy_price) const {
  return {.memory_limit = LimitOfNetworks(),
          .relaxed = relaxed,
          .copy_price = copy_price,
          .lists = chosen_ ? &*chosen_ : nullptr,
          .start = chosen_ && best_ ? &best_->assignment : nullptr};
}

// Where it is the relaxed network that is searched (`bounding`), its bound is the result; else that is known.
// `uniform`, of that network, or null: among uniform plans alone.
SolveResult OptimalSearch::Search(const LayoutNetwork& network, bool bounding, double seconds, UniformSearch* uniform) {
  if (!best_ || best_->excess > 0) --searches_left_;
  SolveOptions options;
  options.effort = effort_;
  options.seconds = search_.seconds > 0 ? seconds : 0;
  options.threads = search_.threads;
  options.seed = search_.seed;
  // The rest is for what the relaxed problem leaves out. Under a limit sums take long to bound, and where it is
  // schedules that count (ShortenSchedule begins with the plan of the least sum) their bounds are others.
  const bool only_begins = LimitOfNetworks() && search_.objective == Objective::kSchedule;
  const double gaps = !bounding ? 1 : PrefersUniform() ? kGapsOfBeginning : only_begins ? 1 : kShareOfGap;
  options.gap = gaps * search_.gap;
  options.has_known_bound = !bounding;
  options.known_bound = bound_;
  options.stop = options_.cancelled;
  if (LimitOfNetworks() && search_.seconds <= 0) {
    options.patience = static_cast<int64_t>(kPatience * std::max(1.0, search_.effort));
  }
  options.settled = bounding;
  if (bounding && is_way_) options.cutoff = most_seconds_;
  const double before = SecondsSoFar();
  if (options_.found) {
    options.progress = [this, bounding, before](const SolveProgress& progress) {
      SearchState state{.seconds = before + progress.seconds,
                        .cost = best_ && best_->excess == 0 ? best_->seconds : 0,
                        .lower_bound = bound_};
      // What the network finds is a plan; under a limit only its pricing says whether it fits. What the relaxed
      // network finds has to be priced too.
      const bool fits = !bounding && progress.feasible && !options_.memory_limit;
      if (fits && (state.cost == 0 || progress.cost < state.cost)) state.cost = progress.cost;
      if (bounding) state.lower_bound = std::max(0.0, progress.lower_bound);
      options_.found(state);
    };
  }
  if (best_) {
    Result<std::vector<int32_t>> start = network.Write(best_->assignment);
    if (start.ok()) options.start = *std::move(start);
  }
  options.enough = bound_ / (1 - search_.gap);
  if (uniform != nullptr) {
    options.effort = std::max(kLeastOfUniform, kEffortOfUniform * options.effort);
    options.gap = kGapOfUniform * search_.gap;
    std::vector<std::vector<int32_t>> starts = {options.start};
    if (alike_) {
      const Result<std::vector<int32_t>> alike = network.Write(*alike_);
      if (alike.ok()) starts.push_back(*alike);
    }
    return uniform->Solve(starts, options).value_or(SolveResult{.evaluation = {.forbidden = true}});
  }
  SolveResult result = Solve(network.network(), options);
  cut_short_ = cut_short_ || result.gap > options.gap;  // it ends when that is reached or proved, or by its effort
  return result;
}

// With a plan that is about as good as the bound that is known lets it be: to make it uniform may be all that is left.
bool OptimalSearch::BeginsNear() const {
  return options_.start_bound_seconds > 0 && search_.uniform >= 0 && best_ && best_->excess == 0 &&
         best_->seconds - bound_ <= kNear * best_->seconds;
}

// The relaxed problem: its bound holds for all plans, and its best choice is a good plan or near one. May also show
// that nothing fits.
Status OptimalSearch::Bound() {
  if (best_ && Cancelled()) return OkStatus();
  if (options_.start_bound_seconds > 0 && GoodEnough()) return OkStatus();
  Result<LayoutNetwork> relaxed = LayoutNetwork::Build(problem_, NetworkOptions(true, 0));
  if (!relaxed.ok()) return OkStatus();  // Improve says why
  const SolveResult below = Search(*relaxed, true, SecondsLeft() * kShareOfSearch);
  if (below.proved_infeasible) {
    nothing_fits_ = !best_ || best_->excess > 0;
    return OkStatus();
  }
  bound_ = std::max(bound_, below.lower_bound);
  if (!below.alike.empty()) relaxed->Read(below.alike, alike_.emplace());
  if (below.evaluation.forbidden) return OkStatus();
  Assignment assignment;
  relaxed->Read(below.choice, assignment);
  if (!Offer(assignment).ok()) return OkStatus();  // the relaxed network knows a way that no plan has
  return NoticeLimit() ? Bound() : OkStatus();
}

// Of the plan priced last, which was searched without the limit: does that press after all?
bool OptimalSearch::NoticeLimit() {
  if (presses_ || Excess() <= 0) return false;
  presses_ = true;
  return true;
}

// The best uniform plan: good enough as a rule, and what the search ends with unless a mix is much better.
void OptimalSearch::TryUniform() {
  const std::optional<Best> before = best_;
  searches_uniform_ = true;
  const Status tried = Improve();
  searches_uniform_ = false;
  if (!tried.ok()) best_ = before;  // no uniform plan meets all pins
}

// Where a limit presses on a large graph, mixes take most of the time, and the search for a short schedule, which looks
// at uniform plans again, hardly ends better from one: the sum of prices, by which they win, is not what counts there.
bool OptimalSearch::PrefersUniform() const {
  const bool asks_for_more = search_.seconds > 0 || search_.effort > SearchOptions{}.effort;
  const bool is_long = problem_.num_ops() >= kOpsToPreferUniform;
  return search_.objective == Objective::kSchedule && search_.uniform >= 0 && LimitOfNetworks() && is_long &&
         !asks_for_more && !is_way_;
}

bool OptimalSearch::UniformWillDo() const { return PrefersUniform() && uniform_ && uniform_->excess == 0; }

// Of the plans that fit, the uniform one unless it costs more than the share that it may.
void OptimalSearch::PreferUniform() {
  if (!uniform_ || uniform_->excess > 0 || best_->excess > 0) return;
  if (best_->seconds < uniform_->seconds * (1 - search_.uniform)) {
    dearer_uniform_ = uniform_->assignment;
    return;
  }
  saved_by_mix_ = 1 - best_->seconds / uniform_->seconds;
  if (saved_by_mix_ > 0) mix_ = best_->assignment;
  best_ = uniform_;
  is_uniform_ = true;
}

Result<Assignment> OptimalSearch::Finish() {
  if (options_.found) {
    options_.found(
        {.seconds = SecondsSoFar(), .cost = best_->seconds, .lower_bound = std::min(bound_, best_->seconds)});
  }
  Assignment assignment = std::move(best_->assignment);
  assignment.price_unit = kUnitOfOptimal;
  assignment.reasons = {is_uniform_ && saved_by_mix_ > 0
                            ? StrCat("part of the fastest uniform plan found; a mix is known that takes ",
                                     FormatDouble(std::round(1000 * saved_by_mix_) / 10), " % less")
                            : std::string("part of the fastest plan found")};
  for (OpChoice& choice : assignment.ops) choice = {.candidate = choice.candidate};
  assignment.conflicts.clear();
  assignment.has_bound = true;
  assignment.cut_short = cut_short_ || searches_left_ <= 0;
  if (search_.uniform >= 0) assignment.uniformity_cost = saved_by_mix_;
  assignment.lower_bound_seconds = std::min(bound_, best_->seconds);
  return assignment;
}

}  // namespace sbp
