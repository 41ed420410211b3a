#include "search/lane_search.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "base/jobs.h"
#include "search/branch.h"
#include "search/dual.h"
#include "search/eliminate.h"

namespace sbp {
namespace {

constexpr int32_t kSmall = 200, kSmallOfMemory = 120;      // nodes: there proofs are always tried
constexpr double kShareToFeasible = 0.8;                   // of the time
constexpr double kShareToEliminate = 0.25;                 // of the time that is left, or of the effort
constexpr int32_t kMostWidePause = 4;                      // rounds
constexpr int32_t kMostIdle = 6;                           // steps
constexpr double kShareOfWide = 0.5;                       // of the work of a round of the neighbourhood search
constexpr int64_t kRoundWork = kSearchWorkPerSecond / 50;  // of each lane, at most
constexpr int32_t kWindow = 10;                            // rounds in which a challenger shows whether it will do
constexpr int32_t kWatch = 96;                             // rounds in which the bound is to rise by
constexpr double kLeastRise = 2e-4;                        // this share, or the dual works in every other round only
constexpr double kDearer[] = {1.05, 1.3, 1.01, 1.1, 2, 1.02, 1.2};  // prices of memory, by the best ones
constexpr double kNear = 0.1;        // of the gap that is good enough: the bound can stay there
constexpr double kLeastGain = 5e-4;  // of cost or bound: what patience waits for

int64_t RoundWork(const LaneSearchOptions& options) {
  if (options.rounds == 0) return kRoundWork;
  const double of_lane = options.effort / (options.only_dual ? 1 : 2);
  return std::min(kRoundWork, static_cast<int64_t>(of_lane / options.rounds * kSearchWorkPerSecond) + 1);
}

}  // namespace

LaneSearch::LaneSearch(const Core& core, const LaneSearchOptions& options)
    : core_(core),
      options_(options),
      round_work_(RoundWork(options)),
      ascent_(core, options.settles, kNear * options.gap),
      neighbourhoods_(core, options.seed + 1),
      challenger_(core, options.seed + 3),
      wide_(core, options.seed + 2) {}

double LaneSearch::bound() const { return proved_ ? Upper() : std::max(options_.known_bound, ascent_.best_bound()); }

// Under a limit branches are cut late, as many choices of few nodes fit.
bool LaneSearch::IsSmall() const { return core_.size() <= (core_.steps() > 0 ? kSmallOfMemory : kSmall); }

bool LaneSearch::OutOfTime() const {
  return Seconds() >= options_.seconds * (best_.excess > 0 ? kShareToFeasible : 1.0);
}

void LaneSearch::Run() {
  while (!Done()) {
    Round();
    ++rounds_;
    NoteGain();
    // Of a large problem proofs take as long as a round: not where the gap is good enough already.
    if (!options_.only_dual && (rounds_ & (rounds_ - 1)) == 0 && (IsSmall() || !Done())) Prove();
    if (options_.report) options_.report();
  }
}

void LaneSearch::TightenForced() {
  constexpr int kIdlePasses = 10;
  DualAscent& dual = ascent_.dual();
  dual.SetMultipliers(std::vector<double>(ascent_.best_multipliers().begin(), ascent_.best_multipliers().end()));
  double best = -kForbidden;
  int idle = 0;
  for (int64_t work = 0; work < 4 * kRoundWork && idle < kIdlePasses && !Late(); work += dual.pass_work()) {
    const double bound = dual.Pass();
    idle = bound > best ? 0 : idle + 1;
    best = std::max(best, bound);
  }
}

FoundChoice LaneSearch::Judged(std::vector<int32_t> choice) const {
  const double excess = ExcessOf(core_, UsageOf(core_, choice));
  const double cost = CostOf(core_, choice);
  return {std::move(choice), excess, cost};
}

void LaneSearch::Begin(const std::vector<int32_t>& choice) {
  FoundChoice found = Judged(choice);
  if (found.cost == kForbidden || !found.Better(best_)) return;
  best_ = std::move(found);
  neighbourhoods_.SetChoice(best_.choice);
}

void LaneSearch::Begin(const LaneSearch& folded, const FoldedCore& fold) {
  if (folded.best().any()) Begin(fold.Unfold(folded.best().choice));
  ascent_.Begin(folded.ascent_, fold, Upper(), options_.cutoff);
}

// Tries to settle what the bound leaves open. Of a large problem it has to leave little.
void LaneSearch::Prove() {
  constexpr double kLittle = 0.03;
  if (!IsSmall() && !(Upper() - bound() <= kLittle * std::fabs(Upper()))) return;
  const BranchResult result = Branch(core_, ascent_.dual(), Upper(), round_work_);
  if (result.found) Begin(result.choice);
  proved_ = result.complete;
  if (!proved_ && core_.steps() == 0) EliminateAll();
}

// All nodes at once, with the candidates that the bound leaves.
void LaneSearch::EliminateAll() {
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
      Eliminate(core_, part, static_cast<int64_t>(kShareToEliminate * seconds * kSearchWorkPerSecond));
  if (result.found) Begin(result.choice);
  proved_ = result.complete;
}

void LaneSearch::NoteGain() {
  const double least = kLeastGain * std::fabs(best_.cost);
  const bool better = best_.excess < gained_.excess || (best_.any() && best_.cost < gained_.cost - least);
  const bool rises = gained_bound_ == -kForbidden || bound() > gained_bound_ + kLeastGain * std::fabs(gained_bound_);
  if (!better && !rises) return;
  gained_ = {{}, best_.excess, best_.cost};
  gained_bound_ = bound();
  steps_at_gain_ = dual_steps_;
}

bool LaneSearch::Done() const {
  if (proved_ || (options_.stop && options_.stop())) return true;
  const int64_t done = (options_.only_dual ? 1 : 2) * rounds_ * round_work_;
  if (options_.seconds > 0 ? OutOfTime() : static_cast<double>(done) >= options_.effort * kSearchWorkPerSecond)
    return true;
  if (bound() >= options_.cutoff) return true;
  if (options_.patience > 0 && dual_steps_ - steps_at_gain_ >= options_.patience) return true;
  if (best_.excess > 0) return false;
  if (best_.cost <= options_.enough) return true;
  // Costs are whole units: a bound above the cost less one unit proves it.
  if (std::ceil(bound() / core_.scale) * core_.scale >= best_.cost) return true;
  return best_.cost - bound() <= options_.gap * std::fabs(best_.cost);
}

// Time is up inside a round: only asked where the result may depend on time.
bool LaneSearch::Late() const {
  if (options_.stop && options_.stop()) return true;
  return options_.seconds > 0 && OutOfTime();
}

void LaneSearch::DualLane() {
  dual_found_ = {};
  if (dual_rests_) return Challenge(round_work_);
  int64_t work = 0;
  while (work < round_work_ && !Late()) {
    if (!ascent_.converged()) {
      ascent_.Step(Upper());
      Offer(ascent_.choice(), ascent_.usage());
      work += ascent_.work() * 3 / 2 + ascent_.dual().pass_work() / 2;
    }
    if (ascent_.settles()) {
      ascent_.Excurse(kDearer[dual_steps_ % static_cast<int64_t>(std::size(kDearer))]);
      for (const bool fitting : {false, true}) {
        const std::vector<int32_t> choice = ascent_.explorer().Round(fitting);
        Offer(choice, UsageOf(core_, choice));
      }
      work += ascent_.work() * 3 / 2 + ascent_.dual().pass_work();
    }
    if (++dual_steps_ % 4 == 0) {
      if (core_.steps() > 0) {  // else it is what was offered already
        const std::vector<int32_t> fitting = ascent_.dual().Round(true);
        Offer(fitting, UsageOf(core_, fitting));
      }
      work += ascent_.dual().pass_work() / 2;
    }
  }
}

void LaneSearch::Offer(const std::vector<int32_t>& choice, const std::vector<double>& usage) {
  const double excess = ExcessOf(core_, usage);
  if (excess > dual_found_.excess) return;
  const double cost = CostOf(core_, choice);
  if (cost < kForbidden && (excess < dual_found_.excess || cost < dual_found_.cost))
    dual_found_ = {choice, excess, cost};
}

void LaneSearch::NeighbourhoodLane() {
  if (!best_.any()) return;
  int64_t work = 0;
  if (guided_) {
    const double before = neighbourhoods_.cost() + neighbourhoods_.excess();
    // Memory is only priced there: one step is enough to see whether that leads on.
    do work += WideStep();
    while (core_.steps() == 0 && work < kShareOfWide * round_work_ && !Late());
    const bool better = neighbourhoods_.cost() + neighbourhoods_.excess() != before;
    wide_pause_ = better || core_.steps() == 0 ? 1 : std::min(kMostWidePause, wide_pause_ + 1);
  }
  if (challenges_ && !dual_rests_ && rounds_ % 2 == 1) return Challenge(round_work_ - work);
  while (work < round_work_ && !Late()) work += neighbourhoods_.Step();
}

void LaneSearch::Challenge(int64_t most_work) {
  for (int64_t work = 0; work < most_work && !Late();) work += challenger_.Step();
  ++window_rounds_;
}

// Between rounds: does the challenger win, go on, or begin anew? It goes on while another window like the last one
// would make it as good as the first search.
void LaneSearch::Challenged() {
  if (core_.steps() == 0 || !best_.any()) return;
  if (dual_found_.Better(challenge_)) challenge_ = dual_found_;
  const FoundChoice now{{}, challenger_.excess(), challenger_.cost()};
  if (challenges_ && now.Better(best_)) {
    best_ = {challenger_.choice(), challenger_.excess(), challenger_.cost()};
    neighbourhoods_.SetChoice(best_.choice);
    challenges_ = false;
  }
  if (challenges_ && window_rounds_ >= kWindow) {
    const bool goes_on = now.excess <= best_.excess && 2 * now.cost - window_cost_ < best_.cost;
    challenges_ = goes_on;
    window_cost_ = now.cost;
    window_rounds_ = 0;
  }
  if (challenges_ || !challenge_.any()) return;
  challenger_.SetChoice(challenge_.choice);
  challenge_ = {};
  challenges_ = true;
  window_cost_ = challenger_.cost();
  window_rounds_ = 0;
}

void LaneSearch::NoteBound() {
  if (rounds_ % kWatch == 0) {
    const double now = ascent_.best_bound();
    bound_rises_ = !(now - watched_bound_ <= kLeastRise * std::fabs(now));
    watched_bound_ = now;
  }
  dual_rests_ = challenges_ && !bound_rises_ && rounds_ % 2 == 0;
}

// In turn from where the search stands, and from what the dual last suggested: another track, left once it stays behind
// or a suggestion is better as it is.
bool LaneSearch::Explores() {
  if (explores_ || core_.steps() > 0 || !suggested_.any()) return false;
  if (!explored_.any() || idle_ >= kMostIdle || suggested_.Better(explored_)) {
    explored_ = suggested_;
    idle_ = 0;
  }
  return true;
}

int64_t LaneSearch::WideStep() {
  explores_ = Explores();
  std::vector<int32_t> tried;
  const int64_t work = wide_.Step(explores_ ? explored_.choice : neighbourhoods_.choice(), tried);
  const FoundChoice found = Judged(std::move(tried));
  if (found.cost == kForbidden) return work;
  if (explores_) {
    ++idle_;
    if (found.Better(explored_)) {
      explored_ = found;
      idle_ = 0;
    }
  }
  const FoundChoice now{{}, neighbourhoods_.excess(), neighbourhoods_.cost()};
  if (found.Better(now)) neighbourhoods_.SetChoice(found.choice);
  return work;
}

void LaneSearch::Round() {
  if (options_.only_dual) {
    DualLane();
  } else {
    RunJobs(2, std::clamp(options_.threads, 1, 2), {}, {},
            [this](size_t lane) { lane == 0 ? DualLane() : NeighbourhoodLane(); });
  }
  if (best_.any()) best_ = {neighbourhoods_.choice(), neighbourhoods_.excess(), neighbourhoods_.cost()};
  Challenged();
  if (dual_found_.Better(best_)) {
    best_ = dual_found_;
    neighbourhoods_.SetChoice(best_.choice);
  }
  neighbourhoods_.SetMultipliers(ascent_.best_multipliers());
  challenger_.SetMultipliers(ascent_.best_multipliers());
  NoteBound();
  guided_ = ++rounds_since_wide_ >= wide_pause_;
  if (!guided_) return;
  rounds_since_wide_ = 0;
  wide_.SetGuide(ascent_.dual(), ascent_.best_multipliers());
  if (dual_found_.any()) suggested_ = dual_found_;
}

}  // namespace sbp
