// The search of the strategy `optimal`: all signatures together. The problem is written as a cost network
// (layout_network.h). The relaxed one is searched first, from the best of the other strategies' answers: it gives the
// bound and nearly the plan; then the exact one, first among uniform plans (uniform.h) and, unless the best of those is
// good enough, among all.
//
// Where the network of all candidates would be too large (network_size.h: three and more mesh axes, as a rule), the
// bound is that of layout_bound.h, which holds for all candidates, and the network has those only that the bound and
// the other strategies favour.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/status.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "search/solve.h"
#include "strategy/optimal/candidate_lists.h"
#include "strategy/optimal/layout_bound.h"
#include "strategy/optimal/layout_network.h"
#include "strategy/optimal/search_options.h"
#include "strategy/optimal/uniform.h"
#include "strategy/strategy.h"

namespace sbp {

inline constexpr const char* kUnitOfOptimal = "seconds";

class OptimalSearch {
 public:
  OptimalSearch(const Problem& problem, const StrategyOptions& options);

  Result<Assignment> Run();
  // After Run, what it passed over: a plan of fewer seconds, as a uniform one costs little more, or a uniform one that
  // costs more than that.
  const std::optional<Assignment>& mix() const { return mix_; }
  const std::optional<Assignment>& uniform() const { return dearer_uniform_; }
  // Likewise: what is nearest to the plan that it was given to begin with.
  const std::optional<Assignment>& earlier() const { return earlier_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr double kNoLimit = std::numeric_limits<double>::infinity();

  // A plan, and how good it is.
  struct Best {
    Assignment assignment;
    double seconds = 0;
    int64_t excess = 0;  // bytes above the limit
  };
  // A known way to solve such a problem that may lead to something (optimal_ways.cc).
  struct Way {
    size_t number = 0;
    int64_t excess = 0;
    double seconds = 0;  // that its plans take at least; of large problems, that the first one takes
  };

  bool Cancelled() const { return options_.cancelled && options_.cancelled(); }
  double SecondsSoFar() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double SecondsLeft() const { return std::max(1e-3, search_.seconds - SecondsSoFar()); }
  bool GoodEnough() const { return Cancelled() || (best_ && IsGoodEnough(*best_)); }
  bool IsGoodEnough(const Best& best) const {
    return best.excess == 0 && best.seconds - bound_ <= search_.gap * best.seconds;
  }
  static bool Better(const Best& a, const Best& b) {
    return std::tie(a.excess, a.seconds) < std::tie(b.excess, b.seconds);
  }

  // A known way that is proved to hold nothing better than what is known.
  bool LeadsNowhere() const { return is_way_ && (nothing_fits_ || bound_ >= most_seconds_); }

  // Enough was searched for a plan that fits, and there is none.
  bool Spent() const { return (!best_ || best_->excess > 0) && searches_left_ <= searches_of_ways_; }

  Status Price(const Assignment& assignment);  // fills priced_
  // Bytes that the priced plan exceeds the limit by; negative: it has that much room.
  int64_t Excess() const { return options_.memory_limit ? priced_.memory.peak_bytes - *options_.memory_limit : 0; }
  Status Offer(const Assignment& assignment);
  // Networks without the limit are several times quicker to search, and their bounds hold under it: it is left out as
  // long as it keeps no plan out that would be the fastest. What fits is known by its price.
  std::optional<int64_t> LimitOfNetworks() const { return presses_ ? options_.memory_limit : std::nullopt; }

  // optimal_search.cc
  Status TryOthers();
  Status SearchChosen(const CandidateLists& all);
  Status SearchAmong(const CandidateLists& lists, const CandidateLists& all, const LayoutBound& bound, size_t most);
  double SecondsOfFirst(const CandidateLists& lists) const;
  LayoutNetworkOptions NetworkOptions(bool relaxed, double copy_price) const;
  SolveResult Search(const LayoutNetwork& network, bool bounding, double seconds, UniformSearch* uniform = nullptr);
  void MendChoice(const LayoutNetwork& network, SolveResult& found) const;
  bool BeginsNear() const;
  bool NoticeLimit();
  Status Bound();
  void TryUniform();
  bool PrefersUniform() const;
  bool UniformWillDo() const;
  // Networks of a few candidates find plans, and no bound: the first one's tell where a bound of schedules may look.
  bool BoundWillDo() const { return options_.only_bound && best_ && best_->excess == 0; }
  void PreferUniform();
  Result<Assignment> Finish();

  // optimal_limits.cc: plans that fit
  Status Improve();
  Status ImproveBelow(double copy_price);
  Status PriceCopies();
  Status Shrink();
  Status NothingFits();

  // optimal_ways.cc
  using Look = std::function<Result<std::optional<Way>>(OptimalSearch&, size_t number)>;
  double SecondsToBeat() const { return best_->excess > 0 ? kNoLimit : best_->seconds; }
  StrategyOptions OptionsOfWays() const;
  Result<std::optional<Way>> FirstOf(size_t number);
  Result<std::optional<Way>> LookAt(size_t number, double most_seconds);
  Result<std::vector<Way>> SortWays(const std::vector<size_t>& numbers, size_t most, const StrategyOptions& options,
                                    const Look& look);
  bool NearEnoughForSchedules() const;
  Result<std::vector<Way>> LookAtWays(const StrategyOptions& options);
  Status TryWays();
  Status GoOnFromWay();
  SolveOptions FirstLook() const;

  const Problem& problem_;
  const StrategyOptions& options_;
  const SearchOptions search_;
  std::optional<Best> best_;
  std::optional<Best> uniform_;      // the best uniform plan; absent: none is known
  std::optional<Assignment> alike_;  // a choice of the relaxed network in which equal layers choose alike
  bool searches_uniform_ = false, is_uniform_ = false;
  bool chosen_of_uniform_ = false;                  // chosen_ was searched for uniform plans alone
  std::optional<Assignment> mix_, dearer_uniform_;  // passed over
  std::optional<Assignment> earlier_;               // what the search began with, if it was given that
  double saved_by_mix_ = 0;                         // share of that plan's seconds that the best plan known would save
  std::vector<Assignment> others_;                  // of the other strategies
  std::vector<std::pair<size_t, Best>> too_large_;  // ways by number, the nearest to the limit first
  std::optional<CandidateLists> chosen_;            // where not all candidates can be looked at together
  Plan priced_;                                     // the last one: price and, with a limit, memory
  double bound_ = 0;
  bool nothing_fits_ = false;  // proved
  bool presses_ = true;        // the memory limit: a plan that exceeds it is faster than those that do not
  double effort_;              // of the next search
  bool is_way_ = false;        // of another search, which has a plan of most_seconds_
  double most_seconds_ = kNoLimit;
  bool cut_short_ = false;           // some search
  double searches_left_ = kNoLimit;  // until there is a plan that fits; ...
  double searches_of_ways_ = 0;      // ... of these, those that are kept for known ways
  Clock::time_point start_ = Clock::now();
};

}  // namespace sbp
