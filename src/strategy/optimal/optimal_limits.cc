// Plans that fit: the search with room for what the network does not count, and what is said where nothing does.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "memory/memory.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "search/mend.h"
#include "search/solve.h"
#include "strategy/optimal/candidate_lists.h"
#include "strategy/optimal/copy_room.h"
#include "strategy/optimal/first_plans.h"
#include "strategy/optimal/layout_network.h"
#include "strategy/optimal/network_size.h"
#include "strategy/optimal/optimal_search.h"
#include "strategy/optimal/smallest_plan.h"
#include "strategy/optimal/uniform.h"
#include "strategy/strategy.h"
#include "strategy/transition_reason.h"

namespace sbp {
namespace {

// Under a memory limit the network counts no copies beside the tensors themselves; where a plan exceeds the limit by
// such copies, the search is asked again with room for them, and then with a price on copies.
constexpr int kMaxTightenings = 8, kMaxWithPrice = 4;
constexpr int kMaxHalvings = 2;
constexpr double kLeastToMend = 0.2, kShareToMend = 0.2;  // of the effort
constexpr double kLeastStep = 0.01;                       // of a limit
constexpr double kLittle = 0.003;                         // of a plan's seconds: not worth another search
constexpr double kCopyPrices[] = {0.1, 10};               // by the step time per byte of the limit
constexpr size_t kWaysToShrink = 3;                       // of those that do not fit
constexpr size_t kOpsOfSmallWays = 40'000;                // of the known ways whose first plans are looked at, together

}  // namespace

// What was found before room changed, made good again: about what a search, which takes several times as long, does in
// its first steps.
void OptimalSearch::MendChoice(const LayoutNetwork& network, SolveResult& found) const {
  const double effort = std::max(kLeastToMend, kShareToMend * effort_);
  SolveResult mended = Mend(network.network(), network.AsReserved(std::move(found.choice)),
                            {.effort = search_.seconds > 0 ? std::min(effort, SecondsLeft()) : effort,
                             .threads = search_.threads,
                             .seed = search_.seed,
                             .prices = found.prices,
                             .stop = options_.cancelled});
  found.choice = std::move(mended.choice);
  found.evaluation = mended.evaluation;
}

Status OptimalSearch::Improve() {
  SBP_ASSIGN_OR_RETURN(LayoutNetwork network, LayoutNetwork::Build(problem_, NetworkOptions(false, 0)));
  CopyRoom room(problem_.num_ops() + 1, options_.memory_limit.value_or(0));
  double failed_seconds = 0;         // of the fastest plan that did not fit
  double fitted_seconds = kNoLimit;  // of the fastest one that did
  int halvings = 0;
  std::vector<int32_t> fitted;  // the last choice that did
  std::optional<UniformSearch> uniform;
  if (searches_uniform_) uniform.emplace(network);
  SolveResult solved;
  bool mends = false;  // what was found last, for other room; to search again among uniform plans takes no longer
  for (int round = 0; round <= kMaxTightenings; ++round) {
    const bool mended = std::exchange(mends, false);
    if (mended) {
      MendChoice(network, solved);
    } else {
      solved = Search(network, false, SecondsLeft(), uniform ? &*uniform : nullptr);
    }
    if (solved.evaluation.forbidden) {
      if (best_) return OkStatus();
      return NoPlan("no assignment was found that meets all pins and ties together");
    }
    Assignment assignment;
    network.Read(solved.choice, assignment);
    SBP_RETURN_IF_ERROR(Offer(assignment));
    const double seconds = priced_.total.seconds();
    if (NoticeLimit()) return Improve();
    if (!LimitOfNetworks() || Cancelled() || Spent()) break;
    if (mended && !solved.evaluation.feasible) continue;  // a search may find what mending does not
    if (!solved.evaluation.feasible) {
      if (room.empty() || halvings++ == kMaxHalvings || best_->excess > 0) break;
      room.Halve();
    } else if (Excess() > 0) {
      if (failed_seconds == 0 || seconds < failed_seconds) failed_seconds = seconds;
      if (failed_seconds > most_seconds_ * (1 + search_.gap)) break;  // to fit takes longer, not shorter
      if (!room.Tighten(HeldPerOp(priced_), network.HeldBy(solved.choice))) break;
      mends = !uniform;
    } else {
      // What fits with less room takes hardly less than what did not fit.
      if (failed_seconds == 0 || seconds - failed_seconds <= kLittle * seconds || GoodEnough()) break;
      const bool again = solved.choice == std::exchange(fitted, solved.choice);
      if (again && halvings > 0) break;  // there is nothing between it and what fails with less room
      mends = !uniform;
      const bool gains = seconds < fitted_seconds * (1 - kLittle);
      fitted_seconds = std::min(fitted_seconds, seconds);
      // As much as this plan needs; where that leads no further, less, for plans that need it at fewer moments.
      if (!gains || !room.Loosen(HeldPerOp(priced_), network.HeldBy(solved.choice))) {
        if (halvings++ == kMaxHalvings) break;
        room.Halve();
      }
    }
    network.Reserve(room.bytes());
  }
  return OkStatus();
}

// A lower limit at all moments alike: it fits where room at the moments at which plans needed it is more than there is.
Status OptimalSearch::ImproveBelow(double copy_price) {
  SBP_ASSIGN_OR_RETURN(LayoutNetwork network, LayoutNetwork::Build(problem_, NetworkOptions(false, copy_price)));
  int64_t limit = *options_.memory_limit;
  int64_t failed = 0, fitted = 0;  // limits of the network at which the plan was too large, and was not
  double failed_seconds = 0;       // that the former took
  int halvings = 0;
  for (int round = 0; round <= (copy_price > 0 ? kMaxWithPrice : kMaxTightenings) && !Cancelled() && !Spent();
       ++round) {
    const SolveResult solved = Search(network, false, SecondsLeft());
    if (solved.evaluation.forbidden) return OkStatus();
    Assignment assignment;
    network.Read(solved.choice, assignment);
    SBP_RETURN_IF_ERROR(Offer(assignment));
    if (!solved.evaluation.feasible) break;
    if (Excess() > 0) {
      failed = limit;
      failed_seconds = priced_.total.seconds();
      if (failed_seconds > most_seconds_ * (1 + search_.gap)) break;
      // Less than it has come to: what the limit leaves above that is no room.
      const int64_t from = std::min(limit, solved.evaluation.peak);
      limit = fitted > 0 ? fitted + (failed - fitted) / 2 : from - std::min(Excess(), from / 2);
    } else {  // as little was taken off as can be?
      fitted = limit;
      if (failed == 0 || ++halvings > kMaxHalvings) break;
      limit = fitted + (failed - fitted) / 2;
    }
    // What fits at a higher limit of the network takes hardly less than what was too large there.
    const bool little_to_gain = best_->excess == 0 && best_->seconds - failed_seconds <= kLittle * best_->seconds;
    if (fitted > 0 && (little_to_gain || failed - fitted < kLeastStep * static_cast<double>(failed))) break;
    network.SetMemoryLimit(limit);
  }
  return OkStatus();
}

// Where copies do not fit: less room for all, and then a price for them, of which the step time is the measure.
Status OptimalSearch::PriceCopies() {
  if (best_->excess <= 0 || Spent()) return OkStatus();
  SBP_RETURN_IF_ERROR(ImproveBelow(0));
  const double unit = best_->seconds / static_cast<double>(*options_.memory_limit);
  for (const double price : kCopyPrices) {
    if (best_->excess > 0 && !Cancelled() && !Spent()) SBP_RETURN_IF_ERROR(ImproveBelow(price * unit));
  }
  return OkStatus();
}

// Nothing that fits was found: the plan of the smallest peak instead, of any and, unless enough was searched, of the
// ways that came nearest. (It may fit after all.)
Status OptimalSearch::Shrink() {
  const auto offer = [this](const Assignment& assignment) { return Offer(assignment); };
  SBP_RETURN_IF_ERROR(OfferFirstPlans(problem_, options_, kOpsOfSmallWays, offer));
  const Assignment start = best_->assignment;
  SBP_RETURN_IF_ERROR(OfferSmallPlans(problem_, start, options_, chosen_ ? &*chosen_ : nullptr, !nothing_fits_, offer));
  for (size_t i = 0; i < std::min(kWaysToShrink, too_large_.size()); ++i) {
    if (nothing_fits_ || best_->excess == 0 || Cancelled() || Spent()) break;
    SBP_ASSIGN_OR_RETURN(const Problem pinned, options_.way(too_large_[i].first));
    SBP_ASSIGN_OR_RETURN(const CandidateLists all, CandidateLists::All(pinned));
    if (!FitsNetwork(pinned, all, false)) continue;
    SBP_RETURN_IF_ERROR(OfferSmallPlans(pinned, too_large_[i].second.assignment, options_, nullptr, true, offer));
  }
  return OkStatus();
}

// The error that says how small plans get, and what holds the memory of the smallest.
Status OptimalSearch::NothingFits() {
  const auto bytes = [](int64_t count) { return FormatBytes(static_cast<double>(count)); };
  if (!options_.explains) {
    return NoPlanFits(StrCat(nothing_fits_ ? "no plan fits" : "no plan was found that fits", " into --memory-limit ",
                             bytes(*options_.memory_limit)));
  }
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
  return NoPlanFits(text);
}

}  // namespace sbp
