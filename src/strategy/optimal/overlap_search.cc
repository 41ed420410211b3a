#include "strategy/optimal/overlap_search.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "cost/collective.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "schedule/play.h"
#include "schedule/schedule.h"
#include "search/solve.h"
#include "strategy/evaluate.h"
#include "strategy/optimal/candidate_lists.h"
#include "strategy/optimal/copy_room.h"
#include "strategy/optimal/layout_bound.h"
#include "strategy/optimal/layout_network.h"
#include "strategy/optimal/network_size.h"
#include "strategy/optimal/price_weights.h"
#include "strategy/optimal/schedule_bound.h"
#include "strategy/optimal/schedule_forms.h"
#include "strategy/optimal/search_options.h"
#include "strategy/optimal/side_weights.h"
#include "strategy/optimal/uniform.h"
#include "strategy/strategy.h"

namespace sbp {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 10, kRoundsWithoutGain = 2, kMoreRoundsWithoutGain = 4, kRoundsOfSides = 7;
constexpr size_t kFewOpsOfRounds = 1500;
constexpr size_t kManyOpsOfRounds = 3000;  // of so many, not both kinds of rounds where the first finds something, ...
constexpr double kFar = 0.04;              // ... unless its step is so much, a share, above the bound
constexpr double kVeryFar = 0.1;           // likewise: there, under a limit, rounds lead now up, now down, and go on
// By the gap that is good enough: above, better plans ask for a higher bound; below, a round without gain is the last.
constexpr double kGapsLeft = 2;
constexpr int kMostTries = std::numeric_limits<int>::max();  // of the schedule bound: as many as it thinks fit
constexpr size_t kDearOpsOfRounds =
    1500;  // of so many, those by sides only where a round cannot look at all candidates
constexpr double kEffortOfScheduleBound = 0.15, kEffortOfRound = 0.08;  // of the search's
constexpr double kEffortOfUniformRound = 0.3;  // likewise: of a round among uniform plans, which are few, ...
constexpr double kEffortOfChoosing = 0.3;      // ... and of what chooses candidates where a limit leaves few of use
constexpr double kWorkOfRound = 6e8;           // of LayoutBound, by unit of effort
constexpr size_t kMostOfRound = 12;            // of each op, where not all can be looked at together
constexpr double kLeastShortening = 0.005;     // of a schedule: what another plan must save
constexpr double kWorthCollectives =
    0.05;                                // what a plan with collectives must save against one without: prices err, too
constexpr double kTimeOfRounds = 0.7;    // of the time; the rest is for the bound
constexpr double kRoomLeft = 0.8;        // of the memory limit: it does not press a plan of that peak
constexpr double kHopes = 0.5;           // of what schedules have shown, where rounds come to an end
constexpr int kMostTightenings = 3;      // of a round, for copies that do not fit
constexpr double kLeastOfRound = 0.001;  // and in the next round by sides
constexpr double kFarOfRound = 0.05;     // above the best schedule: there rounds by sides lead nowhere

class OverlapSearch {
 public:
  OverlapSearch(const Problem& problem, const StrategyOptions& options, const SearchOptions& search, double seconds)
      : problem_(problem),
        asked_(options),
        options_(options),
        search_(search),
        seconds_(seconds),
        all_(CandidateLists::All(problem)) {
    options_.cancelled = [this] { return IsLate(); };
    best_.plan.graph = *problem.graph;
    best_.plan.mesh = problem.mesh;
    best_.plan.cluster = problem.boxing->cluster();
    overlap_ = best_.plan.cluster.device.overlap.value;
    limit_ = options.memory_limit.value_or(0);
  }

  Result<Assignment> Run(Assignment summed, const OtherPlans& others) {
    best_.assignment = std::move(summed);
    SBP_RETURN_IF_ERROR(Price(best_));
    presses_ = !HasRoom(best_.plan);
    least_ = step();
    const Assignment first = best_.assignment;
    forms_.emplace(problem_, best_.plan);
    sum_bound_ = best_.assignment.lower_bound_seconds;
    bound_ = BoundBySums(problem_, sum_bound_);
    const double gain_of_free = std::max(kLeastShortening, search_.uniform);
    const bool searches = !options_.only_bound;
    const auto may_gain = [&] { return searches && !IsNear(); };
    const bool many_ops = problem_.num_ops() >= kManyOpsOfRounds;
    const bool dear = options_.only_begins || (problem_.num_ops() >= kDearOpsOfRounds && !FitsWhole());
    if (searches && others.mix != nullptr) Offer(*others.mix, gain_of_free);
    if (searches && others.uniform != nullptr) Offer(*others.uniform, -search_.uniform);
    if (searches && others.earlier != nullptr) Offer(*others.earlier, gain_of_free);
    share_of_time_ = kTimeOfRounds;
    // On large graphs forms are dear, and better plans will tell which are worth a look.
    const bool briefly = searches && problem_.num_ops() >= kFewOpsOfRounds;
    RaiseBound(searches, gain_of_free, briefly ? 1 : kMostTries);
    const double bounded = step();
    if (may_gain()) SearchBySides(dear ? 1 : kRoundsWithoutGain);
    if (may_gain() && !dear && (!many_ops || step() == bounded || IsFar())) SearchInRounds();
    share_of_time_ = 1;
    const double searched = step();
    if (searched < bounded && !LeavesLittle())
      RaiseBound(searches, gain_of_free, kMostTries);  // the new plans know other forms
    if (!many_ops && !dear && step() < searched && may_gain()) SearchInRounds();
    const double step = this->step();
    Assignment result = std::move(best_.assignment);
    if (is_new_) {
      result.reasons = {"part of the plan of the shortest schedule found"};
      for (OpChoice& choice : result.ops) choice = {.candidate = choice.candidate};
    }
    result.price_unit = first.price_unit;
    result.has_bound = first.has_bound;
    result.cut_short = first.cut_short;
    result.lower_bound_seconds = first.lower_bound_seconds;
    if (search_.uniform >= 0 && !options_.only_bound) result.uniformity_cost = step > 0 ? 1 - least_ / step : 0;
    if (bound_ > 0) result.schedule_bound_seconds = std::min(bound_, step);
    return result;
  }

 private:
  struct Scheduled {
    Assignment assignment;
    Plan plan;
    Schedule schedule;
  };

  bool IsLate() const {
    if (asked_.cancelled && asked_.cancelled()) return true;
    return seconds_ > 0 && std::chrono::duration<double>(Clock::now() - start_).count() > share_of_time_ * seconds_;
  }
  double step() const { return best_.schedule.summary.step; }
  bool HasRoom(const Plan& plan) const {
    return options_.memory_limit &&
           static_cast<double>(plan.memory.peak_bytes) <= kRoomLeft * static_cast<double>(*options_.memory_limit);
  }
  bool IsNear() const { return step() - bound_ <= search_.gap * step(); }
  bool LeavesLittle() const { return step() - bound_ <= kGapsLeft * search_.gap * step(); }
  // Rounds of a large graph are dear; under a limit one more has been seen to be worth it.
  bool Spares() const { return problem_.num_ops() >= kManyOpsOfRounds && !IsLimited(); }
  bool IsLimited() const { return options_.memory_limit && presses_; }  // as far as is seen
  bool EndsSoon() const { return problem_.num_ops() >= kFewOpsOfRounds && LeavesLittle(); }
  bool IsFar() const { return step() - bound_ > kFar * step(); }
  bool GoesOn() const { return options_.memory_limit && step() - bound_ > kVeryFar * step(); }

  // Can a round look at all candidates?
  bool FitsWhole() const { return all_.ok() && FitsNetwork(problem_, *all_, false); }

  Status Price(Scheduled& of) const {
    of.plan.options.memory_limit = options_.memory_limit;
    of.plan.options.prefetch = options_.prefetch;
    SBP_RETURN_IF_ERROR(Evaluate(problem_, of.assignment, of.plan, {.reasons = false, .ahead = true}));
    of.schedule = MakeSchedule(of.plan);
    return OkStatus();
  }

  // By a part of the effort; plans that it meets are offered.
  void RaiseBound(bool offers, double gain, int most_tries) {
    if (IsLate()) return;
    StrategyOptions search = options_;
    if (!presses_) search.memory_limit.reset();
    const ScheduleBound bound = BoundSchedules(problem_, best_.plan,
                                               {.effort = kEffortOfScheduleBound * search_.effort,
                                                .gap = search_.gap,
                                                .step = step(),
                                                .sum_bound = sum_bound_,
                                                .start = &best_.assignment,
                                                .most_tries = most_tries,
                                                .forms = &*forms_,
                                                .tried = &tried_forms_[presses_]},
                                               search);
    bound_ = std::max(bound_, bound.seconds);
    for (const Assignment& plan : bound.plans) {
      if (offers) Offer(plan, gain);
    }
  }

  // Takes the plan if its schedule is shorter by that share. Returns the bytes that it exceeds the limit by; such a one
  // teaches nothing. `sides`: what learns from it too.
  int64_t Offer(Assignment assignment, double gain, SideWeights* sides = nullptr) {
    offered_step_ = 0;
    Scheduled offered = {.assignment = std::move(assignment)};
    offered.plan.graph = *problem_.graph;
    offered.plan.mesh = best_.plan.mesh;
    offered.plan.cluster = best_.plan.cluster;
    if (!Price(offered).ok()) {
      const int64_t peak = offered.plan.memory.peak_bytes;
      return options_.memory_limit ? std::max<int64_t>(1, peak - *options_.memory_limit) : 0;
    }
    offered_step_ = offered.schedule.summary.step;
    Learn(offered);
    if (sides != nullptr) sides->Move(offered.plan, offered.schedule);
    if (forms_) forms_->Add(offered.plan);
    const bool brings_collectives = best_.schedule.summary.collectives == 0 && offered.schedule.summary.collectives > 0;
    if (brings_collectives && offered_step_ >= step() * (1 - kWorthCollectives)) return 0;
    least_ = std::min(least_, offered_step_);
    // Of schedules that are alike, the one whose prices add up to less: it depends less on what is hidden.
    const bool is_simpler = offered_step_ <= step() && gain <= kLeastShortening &&
                            offered.plan.total.seconds() < best_.plan.total.seconds() * (1 - kLeastShortening);
    if (offered_step_ >= step() * (1 - gain) && !is_simpler) return 0;
    best_ = std::move(offered);
    is_new_ = true;
    return 0;
  }

  void BeginRounds() {
    FindKinds();
    limit_ = options_.memory_limit.value_or(0);
    room_ = CopyRoom(problem_.num_ops() + 1, limit_);
    hopes_ = false;
  }

  // By weights of either side of the step; ends where one of its plans comes again or one's schedule is much longer.
  void SearchBySides(int without_gain) {
    BeginRounds();
    Learn(best_);
    SideWeights sides(problem_, forms_->landmarks());
    sides.Move(best_.plan, best_.schedule);
    Assignment before;
    int last_gain = -1;
    // Two to begin with, then, where they are to be spared, as long as each gains.
    const int after_gain = Spares() ? 1 : without_gain;
    for (int round = 0; round < std::min(kRoundsOfSides, std::max(without_gain, last_gain + 1 + after_gain)); ++round) {
      if (IsNear() || IsLate()) return;
      std::optional<Assignment> found = SolveWithin(sides.Weights([this](TensorId t) { return ExposedShare(t); }));
      if (!found) return;
      if (SameChoices(*found, before)) return;
      before = *found;
      const double least = step();
      if (const int64_t excess = Offer(*found, kLeastOfRound, &sides); excess > 0)
        limit_ -= std::min(excess, limit_ / 2);
      if (step() < least) last_gain = round;
      if (offered_step_ > least * (1 + kFarOfRound)) return;
      if (std::abs(offered_step_ - least) < kLeastOfRound * least) return;  // the weights change it no more
    }
  }

  static bool SameChoices(const Assignment& a, const Assignment& b) {
    return a.sources == b.sources && std::ranges::equal(a.ops, b.ops, {}, &OpChoice::candidate, &OpChoice::candidate);
  }

  // Of collectives on tensors of this one's kind, as far as schedules have shown any; else all.
  double ExposedShare(TensorId tensor) const {
    const std::optional<double>& added = added_[kind_of_[tensor.index()]];
    return added && overlap_ > 0 ? std::clamp((*added - (1 - overlap_)) / overlap_, 0.0, 1.0) : 1;
  }

  void SearchInRounds() {
    BeginRounds();
    Learn(best_);
    Assignment before;
    const bool few_ops = problem_.num_ops() < kFewOpsOfRounds, whole = FitsWhole();
    const auto without_gain = [&] {
      if (EndsSoon()) return 1;
      if ((few_ops && whole) || GoesOn()) return kMoreRoundsWithoutGain;
      return Spares() ? 1 : kRoundsWithoutGain;
    };
    int last_gain = -1;
    for (int round = 0; round < std::min(kRounds, last_gain + 1 + without_gain()); ++round) {
      if (IsNear() || IsLate()) return;
      std::optional<Assignment> found = SolveWithin(Weights());
      if (!found) return;
      if (SameChoices(*found, before)) {
        if (EndsSoon() || std::exchange(hopes_, true)) return;
        for (std::optional<double>& added : added_) {
          if (added) *added *= kHopes;
        }
        last_gain = round;
        continue;
      }
      before = *found;
      const double least = step();
      // The network counts no copies beside the tensors themselves: where they do not fit, it is asked for less.
      if (const int64_t excess = Offer(*std::move(found), kLeastShortening); excess > 0)
        limit_ -= std::min(excess, limit_ / 2);
      if (step() < least) last_gain = round;
    }
  }

  // Without the limit, which is quicker, as long as that finds what fits; else with room for the copies by which what
  // was found exceeds it, since the network counts none.
  std::optional<Assignment> SolveWithin(const PriceWeights& weights) {
    if (!all_.ok()) return std::nullopt;
    const std::optional<CandidateLists> chosen = ChooseForRound(*all_, weights);
    std::optional<LayoutNetwork> network;
    std::optional<UniformSearch> uniform;  // of the network: what repeats in it is found once, whatever it reserves
    const auto solve_anew = [&]() -> std::optional<Assignment> {
      uniform.reset();
      network = NetworkOf(weights, chosen);
      if (!network) return std::nullopt;
      if (search_.uniform >= 0) uniform.emplace(*network);
      return Solve(*network, uniform, nullptr);
    };
    std::optional<Assignment> found = solve_anew();
    if (!found || !options_.memory_limit) return found;
    std::vector<int64_t> held = HeldBy(*found);
    if (!presses_) {
      if (Fits(held)) return found;
      presses_ = true;
      found = solve_anew();
      if (found) held = HeldBy(*found);
    }
    for (int tightened = 0; found && !Fits(held) && tightened < kMostTightenings && !IsLate(); ++tightened) {
      const Result<std::vector<int32_t>> choice = network->Write(*found);
      if (!choice.ok() || !room_.Tighten(held, network->HeldBy(*choice))) break;
      network->Reserve(room_.bytes());
      std::optional<Assignment> smaller = Solve(*network, uniform, &*found);
      if (!smaller) break;
      found = std::move(smaller);
      held = HeldBy(*found);
    }
    return found;
  }

  // Per op, with all copies; empty: the assignment cannot be priced, which Offer refuses.
  std::vector<int64_t> HeldBy(const Assignment& assignment) const {
    Plan plan;
    plan.graph = *problem_.graph;
    plan.mesh = best_.plan.mesh;
    plan.cluster = best_.plan.cluster;
    if (!Evaluate(problem_, assignment, plan, {.reasons = false, .room = options_.memory_limit}).ok()) return {};
    return HeldPerOp(plan);
  }
  bool Fits(const std::vector<int64_t>& held) const {
    return std::ranges::all_of(held, [&](int64_t bytes) { return bytes <= *options_.memory_limit; });
  }

  // Where a round cannot look at all candidates together.
  std::optional<CandidateLists> ChooseForRound(const CandidateLists& all, const PriceWeights& weights) {
    if (FitsNetwork(problem_, all, false)) return std::nullopt;
    const double upper = WeightedTotal(best_.plan, weights);
    bound_of_round_ = LayoutBound(problem_, all, upper, weights, bound_of_round_ ? &*bound_of_round_ : nullptr);
    const double effort = IsLimited() ? kEffortOfChoosing : kEffortOfRound;
    bound_of_round_->Ascend(static_cast<int64_t>(kWorkOfRound * std::min(1.0, effort * search_.effort)),
                            options_.cancelled);
    return ChooseCandidates(problem_, all, all, *bound_of_round_, upper, {&best_.assignment, 1}, kMostOfRound);
  }

  std::optional<LayoutNetwork> NetworkOf(const PriceWeights& weights,
                                         const std::optional<CandidateLists>& chosen) const {
    const bool limited = IsLimited();
    Result<LayoutNetwork> network =
        LayoutNetwork::Build(problem_, {.memory_limit = limited ? std::optional(limit_) : std::nullopt,
                                        .lists = chosen ? &*chosen : nullptr,
                                        .start = chosen ? &best_.assignment : nullptr,
                                        .weights = &weights});
    if (!network.ok()) return std::nullopt;
    if (limited && !room_.empty()) network->Reserve(room_.bytes());
    return *std::move(network);
  }

  // From the best plan, and from another one if there is one.
  std::optional<Assignment> Solve(const LayoutNetwork& network, std::optional<UniformSearch>& uniform,
                                  const Assignment* other) const {
    SolveOptions options;
    options.effort = kEffortOfRound * search_.effort;
    options.threads = search_.threads;
    options.seed = search_.seed;
    options.gap = search_.gap / 2;
    options.stop = options_.cancelled;
    std::vector<std::vector<int32_t>> starts;
    for (const Assignment* const start : {&std::as_const(best_.assignment), other}) {
      if (start == nullptr) continue;
      if (Result<std::vector<int32_t>> choice = network.Write(*start); choice.ok())
        starts.push_back(*std::move(choice));
    }
    if (!starts.empty()) options.start = starts.front();
    std::optional<SolveResult> solved;
    if (uniform) {
      SolveOptions more = options;
      more.effort = kEffortOfUniformRound * search_.effort;
      solved = uniform->Solve(starts, more);
    }
    if (!solved) solved = sbp::Solve(network.network(), options);
    if (solved->evaluation.forbidden || !solved->evaluation.feasible) return std::nullopt;
    Assignment assignment;
    network.Read(solved->choice, assignment);
    return assignment;
  }

  // Tensors of one type, and of producers and first readers that are alike; tied ones with each other.
  void FindKinds() {
    if (!kind_of_.empty()) return;
    const Graph& graph = *problem_.graph;
    std::unordered_map<TensorType, uint32_t> types;
    std::map<std::array<uint32_t, 4>, uint32_t> kinds;
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      const Tensor& tensor = graph.tensors[t];
      const uint32_t type = types.try_emplace(tensor.type, static_cast<uint32_t>(types.size())).first->second;
      const auto [use, end] = problem_.uses.of(TensorId(t));
      const std::array<uint32_t, 4> key = {
          type, tensor.producer.valid() ? 1 + problem_.class_of[tensor.producer.index()] : 0,
          tensor.producer.valid() ? tensor.producer_index : static_cast<uint32_t>(tensor.role),
          use == end ? 0 : 1 + problem_.class_of[use->op.index()]};
      kind_of_.push_back(kinds.try_emplace(key, static_cast<uint32_t>(kinds.size())).first->second);
    }
    // Ties join kinds: the lesser number stands for both.
    std::vector<uint32_t> joined(kinds.size());
    for (uint32_t k = 0; k < joined.size(); ++k) joined[k] = k;
    const auto root = [&](uint32_t k) {
      while (joined[k] != k) k = joined[k];
      return k;
    };
    for (const Tie& tie : graph.ties) {
      const uint32_t a = root(kind_of_[tie.input.index()]), b = root(kind_of_[tie.output.index()]);
      joined[std::max(a, b)] = std::min(a, b);
    }
    for (uint32_t& kind : kind_of_) kind = root(kind);
    added_.assign(kinds.size(), std::nullopt);
  }

  // What a second of collectives of each kind added to the schedule; halfway from what was known before.
  void Learn(const Scheduled& from) {
    if (kind_of_.empty()) return;
    std::vector<std::pair<double, double>> sums(added_.size());  // seconds added, and in all
    mean_ = from.schedule.summary.collectives > 0
                ? (from.schedule.summary.exposed + from.schedule.summary.slowed) / from.schedule.summary.collectives
                : mean_;
    for (size_t i = 0; i < from.plan.transitions.size(); ++i) {
      double sent = 0;
      for (size_t s = 0; s < from.plan.transitions[i].steps.size(); ++s) {
        const TaskTime& time = from.schedule.transitions[i][s];
        if (!RowOf(from.plan.transitions[i].steps[s].kind).local) sent += time.end - time.start;
      }
      const double exposed = std::min(sent, from.schedule.exposed[i]);
      auto& [added, all] = sums[kind_of_[from.plan.transitions[i].tensor.index()]];
      added += exposed + (1 - overlap_) * (sent - exposed);
      all += sent;
    }
    for (size_t k = 0; k < sums.size(); ++k) {
      if (sums[k].second <= 0) continue;
      const double share = sums[k].first / sums[k].second;
      added_[k] = added_[k] ? (*added_[k] + share) / 2 : share;
    }
  }

  PriceWeights Weights() const {
    PriceWeights weights;
    const Landmarks& landmarks = forms_->landmarks();
    for (size_t t = 0; t < kind_of_.size(); ++t) {
      const double unknown = landmarks.IsBottleneck(TensorId(t)) ? 1 : hopes_ ? 1 - overlap_ : mean_;
      weights.sent_of.push_back(added_[kind_of_[t]].value_or(unknown));
    }
    return weights;
  }

  const Problem& problem_;
  const StrategyOptions& asked_;
  StrategyOptions options_;  // likewise, with IsLate
  const SearchOptions& search_;
  const double seconds_;
  const Result<CandidateLists> all_;
  double overlap_ = 1;
  double bound_ = 0;
  double least_ = 0;          // step of any plan seen that fits and might have been taken
  double offered_step_ = 0;   // of the last plan offered; 0: it does not fit
  double share_of_time_ = 1;  // after which it is late
  int64_t limit_ = 0;         // of the network's memory, where there is one
  CopyRoom room_{0, 0};       // within that, for copies
  bool presses_ = true;       // the memory limit, as far as is seen: networks know it
  Scheduled best_;
  bool is_new_ = false;
  std::vector<uint32_t> kind_of_;              // per tensor
  std::vector<std::optional<double>> added_;   // per kind; none: no schedule has shown it
  double mean_ = 1;                            // of all collectives of the last schedule
  bool hopes_ = false;                         // that collectives which no schedule has shown are hidden
  std::optional<LayoutBound> bound_of_round_;  // of the last one; the next begins with its messages
  std::optional<KnownForms> forms_;
  std::array<std::set<ScheduleForm>, 2> tried_forms_;  // without the memory limit, and with it
  double sum_bound_ = 0;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

Result<Assignment> ShortenSchedule(const Problem& problem, const StrategyOptions& options, const SearchOptions& search,
                                   double seconds, Assignment summed, const OtherPlans& others) {
  return OverlapSearch(problem, options, search, seconds).Run(std::move(summed), others);
}

}  // namespace sbp
