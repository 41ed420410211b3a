// optimal: all signatures together. The problem is written as a cost network (layout_network.h). The relaxed one is
// searched first, from the best of the other strategies' answers: it gives the bound and nearly the plan; then, unless
// that is good enough, the exact one.
//
// Where the network of all candidates would be too large (network_size.h: three and more mesh axes, as a rule), the
// bound is that of layout_bound.h, which holds for all candidates, and the network has those only that the bound and
// the other strategies favour.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "plan/pins.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "search/solve.h"
#include "strategy/all_strategies.h"
#include "strategy/evaluate.h"
#include "strategy/optimal/candidate_lists.h"
#include "strategy/optimal/layout_bound.h"
#include "strategy/optimal/layout_network.h"
#include "strategy/optimal/merged_axes.h"
#include "strategy/optimal/network_size.h"
#include "strategy/optimal/overlap_search.h"
#include "strategy/optimal/search_options.h"
#include "strategy/optimal/smallest_plan.h"
#include "strategy/optimal/start.h"
#include "strategy/optimal/uniform.h"
#include "strategy/strategy.h"
#include "strategy/transition_reason.h"
#include "strategy/walk.h"

namespace sbp {
namespace {

using Clock = std::chrono::steady_clock;

// Under a memory limit the network counts no copies beside the tensors themselves; where a plan exceeds the limit by
// such copies, the search is asked again with that much less, and then with a price on copies.
constexpr int kMaxTightenings = 8, kMaxWithPrice = 4;
constexpr int kMaxHalvings = 3;
constexpr double kLittle = 0.003;            // of a plan's seconds: not worth another tightening
constexpr double kLeastStep = 0.01;          // of a limit
constexpr double kCopyPrices[] = {0.1, 10};  // by the step time per byte of the limit
// Steps of the dual under a memory limit without a gain, by unit of effort and at least by one.
constexpr double kPatience = 16;
constexpr double kEffortOfFirstLook = 0.1;
constexpr double kShareOfSchedule = 0.2;  // of the time: the search for a shorter schedule
constexpr double kShareOfSearch = 0.6;    // of the time; the first search, which also finds the bound, takes no more
// Of each op, where not all can be looked at together; at first, where axes are merged and where there are none to.
constexpr size_t kMostCandidates = 24, kFirstOfMerged = 16, kFirstCandidates = 6;
constexpr double kEffortOfFirstChosen = 0.3;  // share of the effort
constexpr double kWorkOfBound = 6e8;          // of LayoutBound, by unit of effort
// Known ways that are searched, at least, and as many as have so many ops together; where a search looks at a few
// candidates of each op only, one.
constexpr size_t kFewestWays = 2, kOpsOfWays = 40'000;
constexpr size_t kWaysToShrink = 3;  // of those that do not fit
// Likewise, that are looked at where what is known is good enough already, or where a look is a search of its own.
constexpr size_t kOpsOfLooks = 16'000;
constexpr double kEffortOfUniform = 0.15, kGapOfUniform = 0.3;  // of what the free search may take, and of its gap
constexpr double kShareOfGap = 0.6;  // of the gap that is good enough, for the relaxed problem

// The same layouts, whatever the texts are?
bool AlikeTensors(const auto& a, const auto& b) {
  return a.size() == b.size() && std::ranges::all_of(a, [&](const auto& pin) {
           const auto found = b.find(pin.first);
           return found != b.end() && found->second.layout == pin.second.layout;
         });
}
bool Alike(const Pins& a, const Pins& b) {
  return a.signatures.empty() && b.signatures.empty() && AlikeTensors(a.tensors, b.tensors) &&
         AlikeTensors(a.lies, b.lies) && AlikeTensors(a.uses, b.uses);
}

constexpr std::string_view kOptimalUnit = "seconds";

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// Another strategy, whose answer the search starts from and is never worse than.
struct Start {
  std::string_view strategy, criterion;
};
constexpr Start kStarts[] = {{"einsum", ""}, {"greedy", "time"}, {"greedy", "bytes"}, {"replicate", ""}};

class Optimal {
 public:
  Optimal(const Problem& problem, const StrategyOptions& options)
      : problem_(problem), options_(options), search_(SearchOptionsOf(options)), effort_(search_.effort) {
    priced_.graph = *problem_.graph;
    priced_.mesh = problem_.mesh;
    priced_.cluster = problem_.boxing->cluster();
  }

  Result<Assignment> Run() {
    SBP_RETURN_IF_ERROR(TryOthers());
    SBP_ASSIGN_OR_RETURN(const CandidateLists all, CandidateLists::All(problem_));
    if (!FitsNetwork(problem_, all, false)) SBP_RETURN_IF_ERROR(SearchChosen(all));
    const bool hopeless = NothingCanFit();
    if (!hopeless && !chosen_ && search_.uniform >= 0) TryUniform();
    if (!hopeless && !chosen_) SBP_RETURN_IF_ERROR(Bound());
    if (is_way_ && (hopeless || bound_ >= most_seconds_)) return NoPlan("this way leads nowhere");
    if (!best_ || (!hopeless && !chosen_ && !GoodEnough())) SBP_RETURN_IF_ERROR(Improve(0));
    if (!hopeless && best_->excess > 0) {  // copies do not fit: they get a price, of which the step time is the measure
      const double unit = best_->seconds / static_cast<double>(*options_.memory_limit);
      for (const double price : kCopyPrices) {
        if (best_->excess > 0 && !Cancelled()) SBP_RETURN_IF_ERROR(Improve(price * unit));
      }
    }
    SBP_RETURN_IF_ERROR(TryWays());
    if (best_->excess > 0 && is_way_) return NoPlan("this way does not fit");
    if (best_->excess > 0) SBP_RETURN_IF_ERROR(Shrink());
    if (best_->excess > 0) return NothingFits();
    PreferUniform();
    return Finish();
  }

 private:
  struct Best {
    Assignment assignment;
    double seconds = 0;
    int64_t excess = 0;  // bytes above the limit
  };

  bool Cancelled() const { return options_.cancelled && options_.cancelled(); }
  double SecondsLeft() const {
    return std::max(1e-3, search_.seconds - std::chrono::duration<double>(Clock::now() - start_).count());
  }

  // Fills priced_.
  Status Price(const Assignment& assignment) {
    return Evaluate(problem_, assignment, priced_, {.reasons = false, .memory = options_.memory_limit.has_value()});
  }

  // Bytes that the priced plan exceeds the limit by; negative: it has that much room.
  int64_t Excess() const { return options_.memory_limit ? priced_.memory.peak_bytes - *options_.memory_limit : 0; }

  Status Offer(const Assignment& assignment) {
    SBP_RETURN_IF_ERROR(Price(assignment));
    const double seconds = priced_.total.seconds();
    const int64_t excess = std::max<int64_t>(0, Excess());
    Best offered{assignment, seconds, excess};
    if (!best_ || Better(offered, *best_)) best_ = std::move(offered);
    return OkStatus();
  }
  static bool Better(const Best& a, const Best& b) {
    return std::tie(a.excess, a.seconds) < std::tie(b.excess, b.seconds);
  }

  struct Way {
    size_t number = 0;
    int64_t excess = 0;
    double seconds = 0;  // that its plans take at least; of large problems, that the first one takes
  };

  // The best uniform plan: where the search begins, and what it ends with unless a mix is much better.
  void TryUniform() {
    std::optional<Best> before = std::exchange(best_, std::nullopt);
    searches_uniform_ = true;
    (void)Improve(0);  // an error: no uniform plan meets all pins
    searches_uniform_ = false;
    uniform_ = std::exchange(best_, std::move(before));
    if (uniform_ && (!best_ || Better(*uniform_, *best_))) best_ = uniform_;
  }

  // Of the plans that fit, the uniform one unless it costs more than the share that it may.
  void PreferUniform() {
    if (!uniform_ || uniform_->excess > 0 || best_->excess > 0) return;
    if (best_->seconds < uniform_->seconds * (1 - search_.uniform)) return;
    saved_by_mix_ = 1 - best_->seconds / uniform_->seconds;
    best_ = uniform_;
    is_uniform_ = true;
  }

  // A way that may lead to something better than what is known? What a proof excludes is not searched.
  Result<std::optional<Way>> LookAt(size_t number, double most_seconds) {
    SBP_ASSIGN_OR_RETURN(const CandidateLists all, CandidateLists::All(problem_));
    if (!FitsNetwork(problem_, all, false)) {
      SBP_RETURN_IF_ERROR(TryOthers());
      return best_ ? std::optional<Way>({number, best_->excess, best_->seconds}) : std::optional<Way>();
    }
    SBP_ASSIGN_OR_RETURN(const LayoutNetwork relaxed, LayoutNetwork::Build(problem_, NetworkOptions(true, 0)));
    SolveOptions options = FirstLook();
    options.cutoff = most_seconds;
    const SolveResult below = Solve(relaxed.network(), options);
    if (below.proved_infeasible || below.lower_bound >= most_seconds) return std::optional<Way>();
    return std::optional<Way>({number, 0, below.lower_bound});
  }

  // The known ways that differ and may be better, those with most promise first.
  Result<std::vector<Way>> LookAtWays(const StrategyOptions& options, double most_seconds) {
    std::vector<Way> ways;
    std::vector<Pins> seen;
    const bool all = !chosen_ && !GoodEnough();
    const size_t of_large = std::max(chosen_ ? 1 : kFewestWays, kOpsOfLooks / std::max<size_t>(1, problem_.num_ops()));
    const size_t most = all ? options_.num_ways : of_large;
    for (size_t number = 0; number < options_.num_ways && seen.size() < most && !Cancelled(); ++number) {
      const Result<Problem> pinned = options_.way(number);
      if (!pinned.ok() || std::ranges::any_of(seen, [&](const Pins& pins) { return Alike(pins, pinned->pins); }))
        continue;
      seen.push_back(pinned->pins);
      Optimal look(*pinned, options);
      const Result<std::optional<Way>> way = look.LookAt(number, most_seconds);
      if (look.best_) SBP_RETURN_IF_ERROR(Offer(look.best_->assignment));
      if (way.ok() && *way) ways.push_back(**way);
    }
    std::ranges::stable_sort(
        ways, [](const Way& a, const Way& b) { return std::tie(a.excess, a.seconds) < std::tie(b.excess, b.seconds); });
    return ways;
  }

  // Searches the known ways as if they were pinned; of large graphs, the best few. Those that their own bounds show to
  // be dearer are soon done with.
  Status TryWays() {
    if (options_.num_ways == 0 || Cancelled()) return OkStatus();
    StrategyOptions options = options_;
    options.num_ways = 0;
    options.found = nullptr;
    options.start_signatures.clear();
    const Best before = *best_;
    const auto most_seconds = [&] { return best_->excess > 0 ? kNoLimit : best_->seconds; };
    SBP_ASSIGN_OR_RETURN(std::vector<Way> ways, LookAtWays(options, most_seconds()));
    const size_t most = chosen_ ? 1 : std::max(kFewestWays, kOpsOfWays / std::max<size_t>(1, problem_.num_ops()));
    if (ways.size() > most) ways.resize(most);
    for (const Way& way : ways) {
      if (Cancelled()) break;
      SBP_ASSIGN_OR_RETURN(const Problem pinned, options_.way(way.number));
      Optimal search(pinned, options);
      search.is_way_ = true;
      search.most_seconds_ = most_seconds();
      const Result<Assignment> found = search.Run();
      if (found.ok()) {
        SBP_RETURN_IF_ERROR(Offer(*found));
      } else if (search.best_ && search.best_->excess > 0) {
        SBP_RETURN_IF_ERROR(Offer(search.best_->assignment));
        too_large_.emplace_back(way.number, *std::move(search.best_));
      }
    }
    std::ranges::stable_sort(too_large_, {}, [](const auto& entry) { return entry.second.excess; });
    const bool is_new = best_->excess < before.excess || (best_->excess == 0 && best_->seconds < before.seconds);
    return is_new && !chosen_ && options_.memory_limit ? GoOnFromWay() : OkStatus();
  }

  // What is beyond the known ways: the search goes on from the best of them.
  Status GoOnFromWay() { return GoodEnough() ? OkStatus() : Improve(0); }

  Status TryOthers() {
    StrategyOptions options = options_;
    for (const Start& start : kStarts) {
      if (best_ && Cancelled()) break;
      if (!start.criterion.empty()) options.criterion = start.criterion;
      SBP_ASSIGN_OR_RETURN(const StrategyRow* row, FindStrategy(start.strategy));
      const Result<Assignment> assignment = row->solve(problem_, options);
      if (!assignment.ok()) continue;  // pins may exclude what it wants
      SBP_RETURN_IF_ERROR(Offer(*assignment));
      others_.push_back(*assignment);
    }
    if (options_.start_signatures.empty() || !best_) return OkStatus();
    SBP_ASSIGN_OR_RETURN(const Assignment earlier, AssignmentNearStart(problem_, options_, best_->assignment));
    return Offer(earlier);
  }

  // A bound over all candidates, and networks of the few that it favours: first of those that treat neighbouring axes
  // alike, of which a few go a long way, then of any.
  Status SearchChosen(const CandidateLists& all) {
    LayoutBound bound(problem_, all, best_ ? best_->seconds : SecondsOfFirst(all));
    bound.Ascend(static_cast<int64_t>(kWorkOfBound * std::min(1.0, search_.effort)), [this] {
      return Cancelled() || (search_.seconds > 0 && SecondsLeft() < (1 - kShareOfSearch) * search_.seconds);
    });
    bound_ = bound.bound();
    const bool mergeable = problem_.mesh.num_axes() > 2;
    if (best_) {
      const CandidateLists merged = mergeable ? ListsOfMergedAxes(problem_, all) : all;
      effort_ = kEffortOfFirstChosen * search_.effort;
      SBP_RETURN_IF_ERROR(SearchAmong(merged, all, bound, mergeable ? kFirstOfMerged : kFirstCandidates));
    }
    effort_ = search_.effort;
    return SearchAmong(all, all, bound, kMostCandidates);
  }

  // The network of the `most` candidates of each op that seem best in `lists`, and of those of the plans known.
  Status SearchAmong(const CandidateLists& lists, const CandidateLists& all, const LayoutBound& bound, size_t most) {
    if (chosen_ && best_ && GoodEnough()) return OkStatus();
    std::vector<Assignment> kept = others_;
    if (best_) kept.push_back(best_->assignment);
    const bool fits = best_ && best_->excess == 0;
    chosen_ = ChooseCandidates(problem_, all, lists, bound, fits ? best_->seconds : kNoLimit, kept, most);
    return best_ && GoodEnough() ? OkStatus() : Improve(0);
  }

  // Of one choice, boxing left out: what seconds are measured by where no plan is known.
  double SecondsOfFirst(const CandidateLists& lists) const {
    double seconds = 0;
    for (size_t o = 0; o < problem_.num_ops(); ++o)
      seconds += problem_.ComputeSeconds(OpId(o), lists.of(OpId(o)).front());
    return std::max(seconds, 1e-9);
  }

  LayoutNetworkOptions NetworkOptions(bool relaxed, double copy_price) const {
    return {.memory_limit = options_.memory_limit,
            .relaxed = relaxed,
            .copy_price = copy_price,
            .lists = chosen_ ? &*chosen_ : nullptr,
            .start = chosen_ && best_ ? &best_->assignment : nullptr};
  }

  bool GoodEnough() const {
    return Cancelled() || (best_ && best_->excess == 0 && best_->seconds - bound_ <= search_.gap * best_->seconds);
  }

  // Where it is the relaxed network that is searched (`bounding`), its bound is the result; else that is known.
  SolveResult Search(const LayoutNetwork& network, bool bounding, double seconds) {
    SolveOptions options;
    options.effort = effort_;
    options.seconds = search_.seconds > 0 ? seconds : 0;
    options.threads = search_.threads;
    options.seed = search_.seed;
    // The rest is for what the relaxed problem leaves out.
    options.gap = bounding ? kShareOfGap * search_.gap : search_.gap;
    options.has_known_bound = !bounding;
    options.known_bound = bound_;
    options.stop = options_.cancelled;
    if (options_.memory_limit && search_.seconds <= 0) {
      options.patience = static_cast<int64_t>(kPatience * std::max(1.0, search_.effort));
    }
    if (bounding && is_way_) options.cutoff = most_seconds_;
    const double before = std::chrono::duration<double>(Clock::now() - start_).count();
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
    if (searches_uniform_) {
      options.effort *= kEffortOfUniform;
      options.gap = kGapOfUniform * search_.gap;
      return SolveUniform(network, options).value_or(SolveResult{.evaluation = {.forbidden = true}});
    }
    SolveResult result = Solve(network.network(), options);
    cut_short_ = cut_short_ || result.gap > options.gap;  // it ends when that is reached or proved, or by its effort
    return result;
  }

  Status Improve(double copy_price) {
    SBP_ASSIGN_OR_RETURN(LayoutNetwork network, LayoutNetwork::Build(problem_, NetworkOptions(false, copy_price)));
    int64_t limit = options_.memory_limit.value_or(0);
    int64_t failed = 0, fitted = 0;  // limits of the network at which the plan was too large, and was not
    double failed_seconds = 0;       // that the former took
    int halvings = 0;
    for (int round = 0; round <= (copy_price > 0 ? kMaxWithPrice : kMaxTightenings); ++round) {
      const SolveResult solved = Search(network, false, SecondsLeft());
      if (solved.evaluation.forbidden) {
        if (best_) return OkStatus();
        return NoPlan("no assignment was found that meets all pins and ties together");
      }
      Assignment assignment;
      network.Read(solved.choice, assignment);
      SBP_RETURN_IF_ERROR(Offer(assignment));
      const int64_t excess = Excess();
      if (!solved.evaluation.feasible || Cancelled()) break;
      if (excess > 0) {
        failed = limit;
        failed_seconds = priced_.total.seconds();
        if (failed_seconds > most_seconds_ * (1 + search_.gap)) break;  // to fit takes longer, not shorter
        // Uniform plans are few and far apart: what is taken off the limit may be less than the next one needs.
        const int64_t from = searches_uniform_ ? std::min(limit, solved.evaluation.peak) : limit;
        limit = fitted > 0 ? fitted + (failed - fitted) / 2 : from - std::min(excess, from / 2);
      } else {  // as little was taken off as can be?
        fitted = limit;
        if (failed == 0 || searches_uniform_ || ++halvings > kMaxHalvings) break;
        limit = fitted + (failed - fitted) / 2;
      }
      // What fits at a higher limit of the network takes hardly less than what was too large there.
      const bool little_to_gain = best_->excess == 0 && best_->seconds - failed_seconds <= kLittle * best_->seconds;
      if (fitted > 0 && (little_to_gain || failed - fitted < kLeastStep * static_cast<double>(failed))) break;
      network.SetMemoryLimit(limit);
    }
    return OkStatus();
  }

  // The relaxed problem: its bound holds for all plans, and its best choice is a good plan or near one.
  Status Bound() {
    if (best_ && Cancelled()) return OkStatus();
    SBP_ASSIGN_OR_RETURN(const LayoutNetwork relaxed, LayoutNetwork::Build(problem_, NetworkOptions(true, 0)));
    const SolveResult below = Search(relaxed, true, SecondsLeft() * kShareOfSearch);
    if (below.proved_infeasible) return OkStatus();
    bound_ = std::max(0.0, below.lower_bound);
    if (below.evaluation.forbidden) return OkStatus();
    Assignment assignment;
    relaxed.Read(below.choice, assignment);
    (void)Offer(assignment);  // an error: the relaxed network knows a way that no plan has
    return OkStatus();
  }

  // Is it plain at once that the limit is too small?
  bool NothingCanFit() {
    if (!options_.memory_limit || chosen_ || (best_ && best_->excess == 0)) return false;
    const Result<LayoutNetwork> relaxed = LayoutNetwork::Build(problem_, NetworkOptions(true, 0));
    if (!relaxed.ok()) return false;  // Improve says why
    return Solve(relaxed->network(), FirstLook()).proved_infeasible;
  }

  SolveOptions FirstLook() const {
    SolveOptions options;
    options.effort = kEffortOfFirstLook;
    options.threads = search_.threads;
    options.stop = options_.cancelled;
    return options;
  }

  // Nothing that fits was found: the plan of the smallest peak instead, of any and of the ways that came nearest. (It
  // may fit after all.)
  Status Shrink() {
    const auto offer = [this](const Assignment& assignment) { return Offer(assignment); };
    const Assignment start = best_->assignment;
    SBP_RETURN_IF_ERROR(OfferSmallPlans(problem_, start, options_, chosen_ ? &*chosen_ : nullptr, offer));
    for (size_t i = 0; i < std::min(kWaysToShrink, too_large_.size()); ++i) {
      if (best_->excess == 0 || Cancelled()) break;
      SBP_ASSIGN_OR_RETURN(const Problem pinned, options_.way(too_large_[i].first));
      SBP_ASSIGN_OR_RETURN(const CandidateLists all, CandidateLists::All(pinned));
      if (!FitsNetwork(pinned, all, false)) continue;
      SBP_RETURN_IF_ERROR(OfferSmallPlans(pinned, too_large_[i].second.assignment, options_, nullptr, offer));
    }
    return OkStatus();
  }

  // The error that says how small plans get, and what holds the memory of the smallest.
  Status NothingFits() {
    SBP_RETURN_IF_ERROR(Price(best_->assignment));
    const MemorySummary& memory = priced_.memory;
    const int64_t limit = *options_.memory_limit;
    const int64_t reached = memory.peak_bytes;
    int64_t least = 0;
    if (chosen_) {
      least = LeastPeakOfTensors(problem_, reached);
    } else {
      SBP_ASSIGN_OR_RETURN(const LayoutNetwork relaxed, LayoutNetwork::Build(problem_, NetworkOptions(true, 0)));
      least = LeastPeakOfPlans(relaxed, reached, options_);
    }
    const auto bytes = [](int64_t count) { return FormatBytes(static_cast<double>(count)); };
    std::string text = StrCat(least > limit ? "no plan fits" : "no plan was found that fits", " into --memory-limit ",
                              bytes(limit), "; the smallest peak ");
    if (least == reached) {
      text += StrCat("of any plan is ", bytes(reached), " (proved)");
    } else {
      text += StrCat("found is ", bytes(reached), " (proved: no plan needs less than ", bytes(least), ")");
    }
    if (memory.peak_op.valid()) text += StrCat(", at ", OpLabel(*problem_.graph, memory.peak_op));
    text += "; the largest holders:";
    for (const MemoryHolder& holder : memory.holders) {
      text += StrCat("\n  ", bytes(holder.bytes), "  ", holder.kind, " ", holder.name);
    }
    return NoPlan(text);
  }

  Result<Assignment> Finish() {
    if (options_.found) {
      const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
      options_.found({.seconds = seconds, .cost = best_->seconds, .lower_bound = std::min(bound_, best_->seconds)});
    }
    Assignment assignment = std::move(best_->assignment);
    assignment.price_unit = kOptimalUnit;
    assignment.reasons = {is_uniform_ && saved_by_mix_ > 0
                              ? StrCat("part of the fastest uniform plan found; a mix is known that takes ",
                                       FormatDouble(std::round(1000 * saved_by_mix_) / 10), " % less")
                              : std::string("part of the fastest plan found")};
    for (OpChoice& choice : assignment.ops) choice = {.candidate = choice.candidate};
    assignment.conflicts.clear();
    assignment.has_bound = true;
    assignment.cut_short = cut_short_;
    assignment.lower_bound_seconds = std::min(bound_, best_->seconds);
    return assignment;
  }

  const Problem& problem_;
  const StrategyOptions& options_;
  const SearchOptions search_;
  std::optional<Best> best_;
  std::optional<Best> uniform_;  // the best uniform plan; absent: none is known
  bool searches_uniform_ = false, is_uniform_ = false;
  double saved_by_mix_ = 0;         // share of a uniform plan's seconds that the best plan known would save
  std::vector<Assignment> others_;  // of the other strategies
  std::vector<std::pair<size_t, Best>> too_large_;  // ways by number, the nearest to the limit first
  std::optional<CandidateLists> chosen_;            // where not all candidates can be looked at together
  Plan priced_;                                     // the last one: price and, with a limit, memory
  double bound_ = 0;
  double effort_;        // of the next search
  bool is_way_ = false;  // of another search, which has a plan of most_seconds_
  double most_seconds_ = kNoLimit;
  bool cut_short_ = false;  // some search
  Clock::time_point start_ = Clock::now();
};

Result<Assignment> SolveOptimal(const Problem& problem, const StrategyOptions& options) {
  if (problem.mesh.num_devices() == 1) {
    return Walk(problem, options).Run(InitialSourceLayouts(problem), DecideOnOneDevice);
  }
  const SearchOptions search = SearchOptionsOf(options);
  StrategyOptions of_sum = options;
  if (search.seconds > 0 && search.objective == Objective::kSchedule)
    of_sum.values["time"] = (1 - kShareOfSchedule) * search.seconds;
  SBP_ASSIGN_OR_RETURN(Assignment summed, Optimal(problem, of_sum).Run());
  if (search.objective == Objective::kSum) return summed;
  return ShortenSchedule(problem, options, search, kShareOfSchedule * search.seconds, std::move(summed));
}

}  // namespace

StrategyRow OptimalStrategy() {
  return {.name = "optimal",
          .doc = "all signatures together, least time under the memory limit, with a lower bound",
          .options = AllSearchOptions(),
          .unit = kOptimalUnit,
          .has_bound = true,
          .solve = SolveOptimal,
          .check = CheckSearchOptions,
          .goal = GoalOfSearch};
}

}  // namespace sbp
