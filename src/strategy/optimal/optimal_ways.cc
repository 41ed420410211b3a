// The known ways of the field (recipes of training steps) beside the free search.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/status.h"
#include "plan/pins.h"
#include "problem/problem.h"
#include "search/solve.h"
#include "strategy/optimal/candidate_lists.h"
#include "strategy/optimal/layout_network.h"
#include "strategy/optimal/network_size.h"
#include "strategy/optimal/optimal_search.h"
#include "strategy/optimal/search_options.h"
#include "strategy/strategy.h"

namespace sbp {
namespace {

constexpr double kEffortOfFirstLook = 0.1;
// Known ways that are searched, at least, and as many as have so many ops together (of more, those whose first plans
// are best are looked at before); where a search looks at a few candidates of each op only, one.
constexpr size_t kFewestWays = 2, kOpsOfWays = 40'000;
// Likewise, that are looked at where a look is a search of its own; and where what is known is good enough already, as
// many as cost little beside the search: none of a graph of so many ops, in which they could hardly win anything.
constexpr size_t kOpsOfLooks = 16'000, kOpsOfFewLooks = 4'000;
// Where no limit presses and it is schedules that count, so near the bound, by the gap that is good enough, is near
// enough: a way can win no more than that, and of a sum that is not what is asked for.
constexpr double kGapsWithoutWays = 5;

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

}  // namespace

// What else begins or bounds the search is of the free problem.
StrategyOptions OptimalSearch::OptionsOfWays() const {
  StrategyOptions options = options_;
  options.num_ways = 0;
  options.found = nullptr;
  options.start_signatures.clear();
  options.start_bound_seconds = 0;
  return options;
}

// What the way leads to without a search.
Result<std::optional<OptimalSearch::Way>> OptimalSearch::FirstOf(size_t number) {
  SBP_RETURN_IF_ERROR(TryOthers());
  return best_ ? std::optional<Way>({number, best_->excess, best_->seconds}) : std::optional<Way>();
}

// A way that may lead to something better than what is known? What a proof excludes is not searched.
Result<std::optional<OptimalSearch::Way>> OptimalSearch::LookAt(size_t number, double most_seconds) {
  SBP_ASSIGN_OR_RETURN(const CandidateLists all, CandidateLists::All(problem_));
  if (!FitsNetwork(problem_, all, false)) return FirstOf(number);
  SBP_ASSIGN_OR_RETURN(const LayoutNetwork relaxed, LayoutNetwork::Build(problem_, NetworkOptions(true, 0)));
  SolveOptions options = FirstLook();
  options.cutoff = most_seconds;
  const SolveResult below = Solve(relaxed.network(), options);
  if (below.proved_infeasible || below.lower_bound >= most_seconds) return std::optional<Way>();
  return std::optional<Way>({number, 0, below.lower_bound});
}

// Of these known ways those that differ, `most` of them at most, by what `look` sees in them: most promise first.
Result<std::vector<OptimalSearch::Way>> OptimalSearch::SortWays(const std::vector<size_t>& numbers, size_t most,
                                                                const StrategyOptions& options, const Look& look) {
  std::vector<Way> ways;
  std::vector<Pins> seen;
  for (const size_t number : numbers) {
    if (seen.size() >= most || Cancelled()) break;
    const Result<Problem> pinned = options_.way(number);
    if (!pinned.ok() || std::ranges::any_of(seen, [&](const Pins& pins) { return Alike(pins, pinned->pins); }))
      continue;
    seen.push_back(pinned->pins);
    OptimalSearch search(*pinned, options);
    search.presses_ = presses_;
    const Result<std::optional<Way>> way = look(search, number);
    if (search.best_) SBP_RETURN_IF_ERROR(Offer(search.best_->assignment));
    if (way.ok() && *way) ways.push_back(**way);
  }
  std::ranges::stable_sort(
      ways, [](const Way& a, const Way& b) { return std::tie(a.excess, a.seconds) < std::tie(b.excess, b.seconds); });
  return ways;
}

bool OptimalSearch::NearEnoughForSchedules() const {
  return search_.objective == Objective::kSchedule && !LimitOfNetworks() && best_->excess == 0 &&
         best_->seconds - bound_ <= kGapsWithoutWays * search_.gap * best_->seconds;
}

// The known ways that differ and may be better, those with most promise first.
Result<std::vector<OptimalSearch::Way>> OptimalSearch::LookAtWays(const StrategyOptions& options) {
  const size_t ops = std::max<size_t>(1, problem_.num_ops());
  const bool all = !chosen_ && !GoodEnough() && !NearEnoughForSchedules();
  const size_t of_large = std::max(chosen_ ? 1 : kFewestWays, kOpsOfLooks / ops);
  const size_t most = all ? options_.num_ways : !chosen_ && ops >= kOpsOfFewLooks ? 0 : of_large;
  std::vector<size_t> numbers(options_.num_ways);
  std::iota(numbers.begin(), numbers.end(), size_t{0});
  // Where nothing fits, whatever is nearest to that without a search has most promise.
  if (best_->excess > 0 && Spent()) return SortWays(numbers, most, options, &OptimalSearch::FirstOf);
  if (const size_t looks = std::max(kFewestWays, kOpsOfWays / ops); all && looks < numbers.size()) {
    SBP_ASSIGN_OR_RETURN(const std::vector<Way> ways, SortWays(numbers, most, options, &OptimalSearch::FirstOf));
    numbers.clear();
    for (size_t i = 0; i < std::min(looks, ways.size()); ++i) numbers.push_back(ways[i].number);
  }
  return SortWays(numbers, most, options,
                  [&](OptimalSearch& search, size_t number) { return search.LookAt(number, SecondsToBeat()); });
}

// Searches the known ways as if they were pinned; of large graphs, the best few. Those that their own bounds show to
// be dearer are soon done with.
Status OptimalSearch::TryWays() {
  if (options_.num_ways == 0 || Cancelled()) return OkStatus();
  if (nothing_fits_ && problem_.num_ops() >= kOpsOfFewLooks) return OkStatus();  // none of them does
  const StrategyOptions options = OptionsOfWays();
  const Best before = *best_;
  SBP_ASSIGN_OR_RETURN(std::vector<Way> ways, LookAtWays(options));
  const size_t most = chosen_ ? 1 : std::max(kFewestWays, kOpsOfWays / std::max<size_t>(1, problem_.num_ops()));
  if (ways.size() > most) ways.resize(most);
  searches_of_ways_ = 0;
  for (size_t i = 0; i < ways.size(); ++i) {
    const Way& way = ways[i];
    if (Cancelled() || Spent()) break;
    SBP_ASSIGN_OR_RETURN(const Problem pinned, options_.way(way.number));
    OptimalSearch search(pinned, options);
    search.is_way_ = true;
    search.most_seconds_ = SecondsToBeat();
    const double share = searches_left_ / static_cast<double>(ways.size() - i);
    search.searches_left_ = share;
    const Result<Assignment> found = search.Run();
    if (std::isfinite(share)) searches_left_ -= share - search.searches_left_;
    // A plan of a way is one of ours: there is no difference in numbers.
    const std::optional<Best>& uniform = search.uniform_;
    if (uniform && (!uniform_ || Better(*uniform, *uniform_))) uniform_ = uniform;
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
Status OptimalSearch::GoOnFromWay() { return GoodEnough() ? OkStatus() : Improve(); }

SolveOptions OptimalSearch::FirstLook() const {
  SolveOptions options;
  options.effort = kEffortOfFirstLook;
  options.threads = search_.threads;
  options.stop = options_.cancelled;
  return options;
}

}  // namespace sbp
