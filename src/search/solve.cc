#include "search/solve.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "base/checked_math.h"
#include "search/branch.h"
#include "search/eliminate.h"
#include "search/multipliers.h"
#include "search/neighbourhood.h"
#include "search/reduce.h"
#include "search/wide_neighbourhood.h"

namespace sbp {
namespace {

using Clock = std::chrono::steady_clock;

// Work of a round of each lane, in entries looked at, and how many of them a processor does in a second (about).
constexpr int64_t kWorkPerSecond = 700'000'000;
constexpr double kShareToFeasible = 0.8;    // of the time
constexpr double kShareToEliminate = 0.25;  // of the time that is left, or of the effort
constexpr int32_t kMostWidePause = 4;       // rounds
constexpr int32_t kMostIdle = 6;            // steps
constexpr double kShareOfWide = 0.5;        // of the work of a round of the neighbourhood search
constexpr int64_t kRoundWork = kWorkPerSecond / 50;

// What a lane found, in the core's terms.
struct Found {
  std::vector<int32_t> choice;
  double excess = kForbidden;
  double cost = kForbidden;
  bool any() const { return excess < kForbidden; }
  bool Better(const Found& other) const {
    return excess < other.excess || (excess == other.excess && cost < other.cost);
  }
};

class Search {
 public:
  Search(const CostNetwork& network, const Reduction& reduction, const SolveOptions& options)
      : network_(network),
        reduction_(reduction),
        core_(reduction.core()),
        options_(options),
        known_bound_(options.has_known_bound ? std::floor(options.known_bound / network.unit) * core_.scale
                                             : -kForbidden),
        ascent_(core_),
        neighbourhoods_(core_, options.seed + 1),
        wide_(core_, options.seed + 2) {}

  void Run() {
    if (!options_.start.empty()) Begin(reduction_.Contract(options_.start));
    while (!Done()) {
      Round();
      ++rounds_;
      if ((rounds_ & (rounds_ - 1)) == 0) Prove();
      Report();
    }
  }

  const Found& best() const { return best_; }
  const DualAscent& dual() const { return ascent_.dual(); }
  // kForbidden: it is proved that nothing is feasible.
  double bound() const { return proved_ ? Upper() : std::max(known_bound_, ascent_.best_bound()); }

 private:
  double Seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  // Where nothing is feasible yet, the caller is left some time to find out why.
  bool OutOfTime() const { return Seconds() >= options_.seconds * (best_.excess > 0 ? kShareToFeasible : 1.0); }
  double Upper() const { return best_.excess == 0 ? best_.cost : kForbidden; }

  void Begin(const std::vector<int32_t>& choice) {
    dual_found_ = {};
    Offer(choice, UsageOf(core_, choice));
    if (!dual_found_.any()) return;
    best_ = dual_found_;
    neighbourhoods_.SetChoice(best_.choice);
  }

  // Tries to settle what the bound leaves open. Of a large problem it has to leave little.
  void Prove() {
    constexpr int32_t kSmall = 200;
    constexpr double kLittle = 0.03;
    if (core_.size() > kSmall && !(Upper() - bound() <= kLittle * std::fabs(Upper()))) return;
    const BranchResult result = Branch(core_, ascent_.dual(), Upper(), kRoundWork);
    if (result.found) Begin(result.choice);
    proved_ = result.complete;
    if (!proved_ && core_.steps() == 0) EliminateAll();
  }

  // All nodes at once, with the candidates that the bound leaves.
  void EliminateAll() {
    EliminationPart part;
    for (int32_t node = 0; node < core_.size(); ++node) {
      std::vector<int32_t> left;
      std::vector<double> costs;
      const std::span<const double> forced = ascent_.dual().forced(node);
      for (int32_t a = 0; a < core_.candidates(node); ++a) {
        if (forced[a] == kForbidden || forced[a] > Upper() - std::max(1.0, core_.scale)) continue;
        left.push_back(a);
        costs.push_back(core_.nodes[node].costs[a]);
      }
      if (left.empty()) {
        proved_ = true;
        return;
      }
      part.nodes.push_back(node);
      part.candidates.push_back(std::move(left));
      part.costs.push_back(std::move(costs));
    }
    const double seconds = options_.seconds > 0 ? options_.seconds - Seconds() : options_.effort;
    const EliminationResult result =
        Eliminate(core_, part, static_cast<int64_t>(kShareToEliminate * seconds * kWorkPerSecond));
    if (result.found && CostOf(core_, result.choice) < Upper()) Begin(result.choice);
    proved_ = result.complete;
  }

  bool Done() {
    if (proved_ || (options_.stop && options_.stop())) return true;
    if (options_.seconds > 0 ? OutOfTime()
                             : static_cast<double>(2 * rounds_ * kRoundWork) >= options_.effort * kWorkPerSecond) {
      return true;
    }
    if (best_.excess > 0) return false;
    // Costs are whole units: a bound above the cost less one unit proves it.
    if (std::ceil(bound() / core_.scale) * core_.scale >= best_.cost) return true;
    return best_.cost - bound() <= options_.gap * std::fabs(best_.cost);
  }

  // Time is up inside a round: only asked where the result may depend on time.
  bool Late() const {
    if (options_.stop && options_.stop()) return true;
    return options_.seconds > 0 && OutOfTime();
  }

  void DualLane() {
    dual_found_ = {};
    int64_t work = 0;
    while (work < kRoundWork && !Late()) {
      ascent_.Step(Upper());
      Offer(ascent_.choice(), ascent_.usage());
      work += ascent_.work() * 3 / 2 + ascent_.dual().pass_work() / 2;
      if (++dual_steps_ % 4 == 0) {
        const std::vector<int32_t> fitting = ascent_.dual().Round(true);
        Offer(fitting, UsageOf(core_, fitting));
        work += ascent_.dual().pass_work() / 2;
      }
    }
  }

  void Offer(const std::vector<int32_t>& choice, const std::vector<double>& usage) {
    const double excess = ExcessOf(core_, usage);
    if (excess > dual_found_.excess) return;
    const double cost = CostOf(core_, choice);
    if (cost < kForbidden && (excess < dual_found_.excess || cost < dual_found_.cost))
      dual_found_ = {choice, excess, cost};
  }

  void NeighbourhoodLane() {
    if (!best_.any()) return;
    int64_t work = 0;
    if (guided_) {
      const double before = neighbourhoods_.cost() + neighbourhoods_.excess();
      // Memory is only priced there: one step is enough to see whether that leads on.
      do work += WideStep();
      while (core_.steps() == 0 && work < kShareOfWide * kRoundWork && !Late());
      const bool better = neighbourhoods_.cost() + neighbourhoods_.excess() != before;
      wide_pause_ = better || core_.steps() == 0 ? 1 : std::min(kMostWidePause, wide_pause_ + 1);
    }
    while (work < kRoundWork && !Late()) work += neighbourhoods_.Step();
  }

  // In turn from where the search stands, and from what the dual last suggested: another track, left once it stays
  // behind.
  int64_t WideStep() {
    explores_ = !explores_ && core_.steps() == 0 && !suggested_.empty();
    if (explores_ && (explored_.choice.empty() || idle_ >= kMostIdle)) {
      explored_ = {suggested_, ExcessOf(core_, UsageOf(core_, suggested_)), CostOf(core_, suggested_)};
      idle_ = 0;
    }
    std::vector<int32_t> tried;
    const int64_t work = wide_.Step(explores_ ? explored_.choice : neighbourhoods_.choice(), tried);
    Found found{{}, ExcessOf(core_, UsageOf(core_, tried)), CostOf(core_, tried)};
    found.choice = std::move(tried);
    if (found.cost == kForbidden) return work;
    if (explores_) {
      ++idle_;
      if (found.Better(explored_)) {
        explored_ = found;
        idle_ = 0;
      }
    }
    const Found now{{}, neighbourhoods_.excess(), neighbourhoods_.cost()};
    if (found.Better(now)) neighbourhoods_.SetChoice(found.choice);
    return work;
  }

  void Round() {
    if (options_.threads > 1) {
      std::thread other([this] { NeighbourhoodLane(); });
      DualLane();
      other.join();
    } else {
      DualLane();
      NeighbourhoodLane();
    }
    if (best_.any()) best_ = {neighbourhoods_.choice(), neighbourhoods_.excess(), neighbourhoods_.cost()};
    if (dual_found_.Better(best_)) {
      best_ = dual_found_;
      neighbourhoods_.SetChoice(best_.choice);
    }
    neighbourhoods_.SetMultipliers(ascent_.best_multipliers());
    guided_ = ++rounds_since_wide_ >= wide_pause_;
    if (!guided_) return;
    rounds_since_wide_ = 0;
    wide_.SetGuide(ascent_.dual(), ascent_.best_multipliers());
    if (dual_found_.any()) suggested_ = dual_found_.choice;
  }

  void Report() {
    if (!options_.progress) return;
    SolveProgress progress;
    progress.seconds = Seconds();
    progress.feasible = best_.excess == 0;
    progress.cost = best_.cost / core_.scale * network_.unit;
    progress.lower_bound = bound() / core_.scale * network_.unit;
    progress.gap = (best_.cost - bound()) / std::max(1e-300, std::fabs(best_.cost));
    if (best_.cost != reported_.first || best_.excess != reported_.second) {
      reported_ = {best_.cost, best_.excess};
      peak_ = best_.any() ? Evaluate(network_, reduction_.Expand(best_.choice)).peak : 0;
    }
    progress.peak = peak_;
    options_.progress(progress);
  }

  const CostNetwork& network_;
  const Reduction& reduction_;
  const Core& core_;
  const SolveOptions& options_;
  const double known_bound_;
  MultiplierAscent ascent_;
  NeighbourhoodSearch neighbourhoods_;
  WideNeighbourhoods wide_;
  Found best_, dual_found_;
  int64_t rounds_ = 0;
  bool guided_ = false;                             // wide_ is to work in the next round
  int32_t wide_pause_ = 1, rounds_since_wide_ = 0;  // rounds from one that it works in to the next
  bool explores_ = false;
  Found explored_;
  std::vector<int32_t> suggested_;  // by the dual, in the last round
  int32_t idle_ = 0;                // steps since the other track got better
  int64_t dual_steps_ = 0;
  bool proved_ = false;
  std::pair<double, double> reported_{-1, -1};  // cost and excess that peak_ belongs to
  int64_t peak_ = 0;
  Clock::time_point start_ = Clock::now();
};

// Min-marginals in the problem's numbers; none is below the bound.
std::vector<std::vector<double>> Forced(const CostNetwork& network, const Reduction& reduction, const Search& search) {
  const Core& core = reduction.core();
  std::vector<std::vector<double>> of_core;
  for (int32_t node = 0; node < core.size(); ++node) {
    const std::span<const double> forced = search.dual().forced(node);
    of_core.emplace_back(forced.begin(), forced.end());
  }
  std::vector<std::vector<double>> result = reduction.ExpandForced(of_core);
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
  auto reduction = Reduction::Of(network);
  if (!reduction.ok()) {
    result.proved_infeasible = true;
    result.why_infeasible = reduction.status().message();
    result.evaluation = Evaluate(network, result.choice);
    return result;
  }
  SolveOptions rest = options;
  if (rest.seconds > 0) {
    rest.seconds = std::max(1e-3, rest.seconds - std::chrono::duration<double>(Clock::now() - start).count());
  }
  Search search(network, *reduction, rest);
  search.Run();
  if (search.best().any()) result.choice = reduction->Expand(search.best().choice);
  result.evaluation = Evaluate(network, result.choice);
  result.proved_infeasible = std::isinf(search.bound()) && search.bound() > 0;
  if (result.proved_infeasible) return result;
  result.lower_bound_units = static_cast<int64_t>(std::ceil(search.bound() / reduction->core().scale));
  result.lower_bound = static_cast<double>(result.lower_bound_units) * network.unit;
  if (options.forced) result.forced = Forced(network, *reduction, search);
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
