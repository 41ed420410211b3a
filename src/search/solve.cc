#include "search/solve.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "base/checked_math.h"
#include "search/core.h"
#include "search/folded_core.h"
#include "search/lane_search.h"
#include "search/memory_prices.h"
#include "search/priced_memory.h"
#include "search/reduce.h"

namespace sbp {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kShareToFold = 0.3;  // of time and effort
// A pass over it raises the bound as much as one over the whole, at a fraction of the work.
constexpr double kShareOfFoldedDual = 0.8;
constexpr double kDearerPrices[] = {1, 1.05, 1.2, 1.5};  // by the best ones
constexpr double kShareOfPriced = 0.15;                  // of time and effort, for each of these
constexpr double kGapOfFolded = 0.5;                     // of the gap that is good enough
constexpr int64_t kPatienceOfFolded = 24;                // steps of its dual

// What the lanes say, in the problem's numbers.
class Reporter {
 public:
  Reporter(const CostNetwork& network, const Reduction& reduction, const SolveOptions& options)
      : network_(network), reduction_(reduction), options_(options) {}

  void Report(const LaneSearch& search) {
    const FoundChoice& best = search.best();
    const double scale = reduction_.core().scale;
    SolveProgress progress;
    progress.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    progress.feasible = best.excess == 0;
    progress.cost = best.cost / scale * network_.unit;
    progress.lower_bound = search.bound() / scale * network_.unit;
    progress.gap = (best.cost - search.bound()) / std::max(1e-300, std::fabs(best.cost));
    if (best.cost != reported_.first || best.excess != reported_.second) {
      reported_ = {best.cost, best.excess};
      peak_ = best.any() ? Evaluate(network_, reduction_.Expand(best.choice)).peak : 0;
    }
    progress.peak = peak_;
    options_.progress(progress);
  }

 private:
  const CostNetwork& network_;
  const Reduction& reduction_;
  const SolveOptions& options_;
  std::pair<double, double> reported_{-1, -1};  // cost and excess that peak_ belongs to
  int64_t peak_ = 0;
  Clock::time_point start_ = Clock::now();
};

// Choices of a folded core at prices of memory, as `folded` has found them and somewhat dearer.
void SearchPriced(const LaneSearchOptions& options, FoldedCore& fold, const LaneSearch& folded, LaneSearch& search) {
  const std::vector<double> best(folded.prices().begin(), folded.prices().end());
  for (const double dearer : kDearerPrices) {
    std::vector<double> prices = best;
    for (double& price : prices) price *= dearer;
    LaneSearchOptions less = options;
    less.seconds *= kShareOfPriced;
    less.effort *= kShareOfPriced;
    less.settles = false;
    std::vector<int32_t> choice;
    {
      const PricedMemory priced(fold.core, prices);
      LaneSearch at_price(fold.core, less);
      if (folded.best().any()) at_price.Begin(folded.best().choice);
      at_price.Run();
      choice = at_price.best().choice;
    }
    if (!choice.empty()) search.Begin(fold.Unfold(choice));
  }
}

// Equal layers alike, first: a choice, then messages and prices of memory, to begin with. Returns the choice, if any.
std::vector<int32_t> SearchFolded(const LaneSearchOptions& options, const Core& core, LaneSearch& search) {
  std::optional<FoldedCore> fold = Fold(core, Twins::kNone);
  if (!fold) return {};
  LaneSearchOptions less = options;
  less.seconds *= kShareToFold;
  less.effort *= kShareToFold;
  less.gap *= kGapOfFolded;
  less.known_bound = -kForbidden;
  less.cutoff = kForbidden;
  less.enough = -kForbidden;
  less.report = nullptr;
  less.settles = core.steps() > 0;
  std::vector<int32_t> choice;
  {
    LaneSearch folded(fold->core, less);
    folded.Run();
    if (core.steps() > 0) SearchPriced(less, *fold, folded, search);
    choice = folded.best().choice;
  }
  std::vector<int32_t> alike;
  if (!choice.empty()) alike = fold->Unfold(choice);
  if (!alike.empty()) search.Begin(alike);
  const std::optional<FoldedCore> for_dual = Fold(core, Twins::kForEdgesWithin);
  if (!for_dual) return alike;
  less.only_dual = true;
  less.seconds = kShareOfFoldedDual * options.seconds;
  less.effort = kShareOfFoldedDual * options.effort;
  less.patience = kPatienceOfFolded;
  less.cutoff = options.cutoff;
  LaneSearch dual(for_dual->core, less);
  if (!choice.empty()) dual.Begin(for_dual->WithTwins(choice));
  dual.Run();
  dual.TightenForced();  // at the best prices, and not those of the last step
  search.Begin(dual, *for_dual);
  return alike;
}

// Min-marginals in the problem's numbers; none is below the bound.
std::vector<std::vector<double>> Forced(const CostNetwork& network, const Reduction& reduction,
                                        const LaneSearch& search, int32_t node_asked) {
  const Core& core = reduction.core();
  std::vector<std::vector<double>> of_core;
  for (int32_t node = 0; node < core.size(); ++node) {
    const std::span<const double> forced = search.dual().forced(node);
    of_core.emplace_back(forced.begin(), forced.end());
  }
  std::vector<std::vector<double>> result = reduction.ExpandForced(of_core, node_asked);
  for (std::vector<double>& node : result) {
    for (double& cost : node) cost = std::ceil(std::max(cost, search.bound()) / core.scale) * network.unit;
  }
  return result;
}

}  // namespace

SolveResult Solve(const CostNetwork& network, const SolveOptions& options) {
  const auto start = Clock::now();
  SolveResult result;
  result.choice = options.start.empty() ? std::vector<int32_t>(network.nodes.size(), 0) : options.start;
  result.lower_bound_units = kInt64Max;
  const auto seconds = [start] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const auto late = [&] {
    return (options.stop && options.stop()) || (options.seconds > 0 && seconds() >= options.seconds);
  };
  auto reduction = Reduction::Of(network, {.stop = late, .kept_node = options.forced_node, .memory = options.memory});
  if (!reduction.ok()) {
    result.proved_infeasible = true;
    result.why_infeasible = reduction.status().message();
    result.evaluation = Evaluate(network, result.choice);
    return result;
  }
  const Core& core = reduction->core();
  Reporter reporter(network, *reduction, options);
  LaneSearchOptions lanes{.effort = options.effort,
                          .rounds = options.rounds,
                          .threads = options.threads,
                          .seed = options.seed,
                          .gap = options.gap,
                          .patience = options.patience,
                          .stop = options.stop,
                          .settles = options.settled && core.steps() > 0};
  if (std::isfinite(options.cutoff)) lanes.cutoff = std::ceil(options.cutoff / network.unit) * core.scale;
  if (std::isfinite(options.enough)) lanes.enough = std::floor(options.enough / network.unit) * core.scale;
  if (options.seconds > 0) {
    lanes.seconds = std::max(1e-3, options.seconds - seconds());
  }
  if (options.has_known_bound) lanes.known_bound = std::floor(options.known_bound / network.unit) * core.scale;
  std::optional<LaneSearch> made;
  if (options.progress) lanes.report = [&] { reporter.Report(*made); };
  LaneSearch& search = made.emplace(core, lanes);
  if (!options.start.empty()) search.Begin(reduction->Contract(options.start));
  const std::vector<int32_t> alike = SearchFolded(lanes, core, search);
  search.Run();
  if (options.forced) search.TightenForced();
  if (search.best().any()) result.choice = reduction->Expand(search.best().choice);
  if (!alike.empty()) result.alike = reduction->Expand(alike);
  result.prices = PricesOfNetwork(search.prices(), core, network.unit);
  result.evaluation = Evaluate(network, result.choice);
  result.proved_infeasible = std::isinf(search.bound()) && search.bound() > 0;
  if (result.proved_infeasible) return result;
  result.lower_bound_units = static_cast<int64_t>(std::ceil(search.bound() / core.scale));
  result.lower_bound = static_cast<double>(result.lower_bound_units) * network.unit;
  if (options.forced) result.forced = Forced(network, *reduction, search, options.forced_node);
  if (!result.evaluation.feasible) return result;
  // Fractions were rounded down once per entry: closer than that is equal.
  const double rounding =
      network.integral ? 0 : network.unit * static_cast<double>(network.nodes.size() + network.edges.size() + 1);
  const double cost = result.evaluation.value;
  if (cost <= result.lower_bound + rounding) result.lower_bound = cost;
  result.gap = cost == result.lower_bound ? 0 : (cost - result.lower_bound) / std::fabs(cost);
  return result;
}

}  // namespace sbp
