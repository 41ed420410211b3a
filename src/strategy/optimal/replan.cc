#include "strategy/optimal/replan.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "cost/collective.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "schedule/play.h"
#include "schedule/schedule.h"
#include "search/cost_network.h"
#include "search/reduce.h"
#include "search/solve.h"
#include "strategy/evaluate.h"
#include "strategy/optimal/candidate_lists.h"
#include "strategy/optimal/changed_pins.h"
#include "strategy/optimal/kept_bound.h"
#include "strategy/optimal/layout_network.h"
#include "strategy/optimal/optimal_search.h"
#include "strategy/optimal/price_weights.h"
#include "strategy/optimal/start.h"

namespace sbp {
namespace {

// Ops from what changed, as far as the search looks, one after the other while the last two gained something, and
// another than the first knows something cheaper at all.
constexpr int kRadii[] = {1, 3, 6, 12};
constexpr int kRadiiWithoutGain = 2;
constexpr size_t kMostReaders = 16;                                // of a tensor through which a neighbourhood grows
constexpr double kMostOfOps = 0.25;                                // that are searched again
constexpr double kMostDearer = 0.03;                               // than the earlier plan
constexpr double kMostOfBoundLost = 0.02;                          // by pins that are gone
constexpr double kEffortNearby = 0.02;                             // of a network's search, about seconds
constexpr ptrdiff_t kFewOps = 300;                                 // searched: their best is mostly proved at once
constexpr int kRoundsOfFew = 4;                                    // so that they end then
constexpr const char* kAsksForWork[] = {"effort", "time", "gap"};  // options that say what to search for
constexpr double kWorthIt = 1e-6;                                  // of a plan's seconds

class Replanner {
 public:
  Replanner(const Problem& problem, const StrategyOptions& options, const SearchOptions& search)
      : problem_(problem), options_(options), search_(search), by_schedule_(search.objective == Objective::kSchedule) {
    for (Known* known : {&best_, &other_}) Prepare(known->plan);
  }

  std::optional<Assignment> Run() {
    const EarlierAnswer& before = *options_.start_answer;
    const ChangedPins changed = FindChangedPins(*problem_.graph, before.pins, problem_.pins);
    // Who asks the same again wants a better answer.
    if (changed.empty() && options_.memory_limit == before.plan->options.memory_limit) return std::nullopt;
    const std::optional<KeptBound> bound = BoundThatHolds(problem_, before, changed, options_.memory_limit);
    if (!bound || bound->sum < (1 - kMostOfBoundLost) * before.plan->lower_bound_seconds) return std::nullopt;
    if (bound->schedule < (1 - kMostOfBoundLost) * before.plan->schedule_bound_seconds.value_or(0)) return std::nullopt;
    const double seconds_before = by_schedule_ ? MakeSchedule(*before.plan).summary.step : before.plan->total.seconds();
    if (!Begin()) return std::nullopt;
    if (!changed.empty() && !SearchNear(changed)) return std::nullopt;
    if (best_.seconds > (1 + kMostDearer) * seconds_before) return std::nullopt;
    return Finish(*bound);
  }

 private:
  struct Known {
    Assignment assignment;
    Plan plan;
    Schedule schedule;
    double seconds = 0;
  };

  void Prepare(Plan& plan) const {
    plan.graph = *problem_.graph;
    plan.mesh = problem_.mesh;
    plan.cluster = problem_.boxing->cluster();
    plan.options.memory_limit = options_.memory_limit;
    plan.options.prefetch = options_.prefetch;
  }

  // False: it does not fit.
  bool Price(Known& of) const {
    if (!Evaluate(problem_, of.assignment, of.plan, {.reasons = false, .ahead = true}).ok()) return false;
    of.schedule = MakeSchedule(of.plan);
    of.seconds = by_schedule_ ? of.schedule.summary.step : of.plan.total.seconds();
    return true;
  }

  // The earlier plan as far as pins let it stand.
  bool Begin() {
    Assignment otherwise;
    otherwise.ops.resize(problem_.num_ops());
    otherwise.sources = InitialSourceLayouts(problem_);
    otherwise.reasons = {"part of the earlier plan, searched again near what changed"};
    otherwise.price_unit = kUnitOfOptimal;
    Result<Assignment> near = AssignmentNearStart(problem_, options_, otherwise);
    if (!near.ok()) return false;
    best_.assignment = *std::move(near);
    return Price(best_);
  }

  // False: most of the graph is near.
  bool SearchNear(const ChangedPins& changed) {
    const Result<CandidateLists> all = CandidateLists::All(problem_);
    if (!all.ok()) return false;
    FindWeights();
    int without_gain = 0;
    size_t last_size = 0;
    for (const int radius : kRadii) {
      const std::vector<bool> near = OpsNear(changed, radius);
      const auto size = static_cast<size_t>(std::ranges::count(near, true));
      if (static_cast<double>(size) > kMostOfOps * static_cast<double>(near.size())) return radius > kRadii[0];
      if (size == last_size) return true;
      last_size = size;
      const Found found = SearchAmong(*all, near);
      if (found == Found::kNothing && radius > kRadii[0]) return true;
      without_gain = found == Found::kBetter ? 0 : without_gain + 1;
      if (without_gain == kRadiiWithoutGain || (options_.cancelled && options_.cancelled())) return true;
    }
    return true;
  }

  // Those that read or write what changed, and so many steps of the graph further.
  std::vector<bool> OpsNear(const ChangedPins& changed, int radius) const {
    const Graph& graph = *problem_.graph;
    std::vector<bool> near(problem_.num_ops(), false);
    std::vector<OpId> front, next;
    const auto reach = [&](OpId op) {
      if (near[op.index()]) return;
      near[op.index()] = true;
      next.push_back(op);
    };
    const auto reach_ends = [&](TensorId tensor) {
      if (graph.tensor(tensor).producer.valid()) reach(graph.tensor(tensor).producer);
      const auto [begin, end] = problem_.uses.of(tensor);
      for (const Use* use = begin; use != end; ++use) reach(use->op);
    };
    for (const TensorId tensor : changed.tensors) reach_ends(tensor);
    for (const OpId op : changed.ops) reach(op);
    const auto cross = [&](TensorId tensor) {
      if (!tensor.valid()) return;
      const auto [begin, end] = problem_.uses.of(tensor);
      if (static_cast<size_t>(end - begin) <= kMostReaders) reach_ends(tensor);
    };
    for (int step = 0; step < radius; ++step) {
      front = std::exchange(next, {});
      for (const OpId op : front) {
        for (const TensorId tensor : problem_.operands(op)) cross(tensor);
        for (const TensorId tensor : graph.op(op).outputs) cross(tensor);
      }
    }
    return near;
  }

  // kNothing: it is proved that by the prices of the network nothing is cheaper.
  enum class Found : uint8_t { kNothing, kNothingBetter, kBetter };

  // Searches these ops, all others as they are.
  Found SearchAmong(const CandidateLists& all, const std::vector<bool>& near) {
    CandidateLists lists(problem_);
    for (size_t o = 0; o < problem_.num_ops(); ++o) {
      CandidateLists::List list = {best_.assignment.ops[o].candidate};
      if (near[o]) {
        list = all.of(OpId(o));
        const auto place = std::ranges::lower_bound(list, best_.assignment.ops[o].candidate);
        if (place == list.end() || *place != best_.assignment.ops[o].candidate)
          list.insert(place, best_.assignment.ops[o].candidate);
      }
      lists.Add(OpId(o), std::move(list));
    }
    const Result<LayoutNetwork> network =
        LayoutNetwork::Build(problem_, {.memory_limit = options_.memory_limit,
                                        .lists = &lists,
                                        .start = &best_.assignment,
                                        .weights = by_schedule_ ? &weights_ : nullptr});
    if (!network.ok()) return Found::kNothingBetter;
    const bool is_easy = std::ranges::count(near, true) <= kFewOps && !options_.memory_limit;
    SolveOptions options{.effort = kEffortNearby,
                         .rounds = is_easy ? kRoundsOfFew : 0,
                         .threads = search_.threads,
                         .seed = search_.seed};
    options.memory = &reductions_;
    options.stop = options_.cancelled;
    double seconds_of_start = std::numeric_limits<double>::infinity();
    if (Result<std::vector<int32_t>> start = network->Write(best_.assignment); start.ok()) {
      options.start = *std::move(start);
      const Evaluation evaluation = Evaluate(network->network(), options.start);
      if (!evaluation.forbidden && evaluation.feasible) seconds_of_start = evaluation.value;
    }
    const SolveResult solved = Solve(network->network(), options);
    if (solved.evaluation.forbidden || !solved.evaluation.feasible) return Found::kNothingBetter;
    if (solved.evaluation.value >= seconds_of_start * (1 - kWorthIt))
      return solved.gap > 0 ? Found::kNothingBetter : Found::kNothing;
    other_.assignment = best_.assignment;
    network->Read(solved.choice, other_.assignment);
    if (!Price(other_) || other_.seconds >= best_.seconds * (1 - kWorthIt)) return Found::kNothingBetter;
    other_.assignment.reasons = best_.assignment.reasons;
    std::swap(best_, other_);
    return Found::kBetter;
  }

  // A second of a collective counts as what it adds to the schedule; those of tensors of equal producers or readers
  // alike, and those that it does not show as the mean.
  void FindWeights() {
    const Graph& graph = *problem_.graph;
    const Schedule& schedule = best_.schedule;
    const double overlap = best_.plan.cluster.device.overlap.value;
    const auto kind_of = [&](TensorId tensor) -> std::array<uint32_t, 2> {
      const Tensor& facts = graph.tensor(tensor);
      if (facts.producer.valid()) return {1 + problem_.class_of[facts.producer.index()], facts.producer_index};
      const auto [begin, end] = problem_.uses.of(tensor);
      return {0, begin == end ? 0 : 1 + problem_.class_of[begin->op.index()]};
    };
    std::map<std::array<uint32_t, 2>, std::pair<double, double>> sums;  // seconds added, and in all
    for (size_t i = 0; i < best_.plan.transitions.size(); ++i) {
      const Transition& transition = best_.plan.transitions[i];
      double sent = 0;
      for (size_t s = 0; s < transition.steps.size(); ++s) {
        const TaskTime& time = schedule.transitions[i][s];
        if (!RowOf(transition.steps[s].kind).local) sent += time.end - time.start;
      }
      if (sent <= 0) continue;
      const double exposed = std::min(sent, schedule.exposed[i]);
      auto& [added, all] = sums[kind_of(transition.tensor)];
      added += exposed + (1 - overlap) * (sent - exposed);
      all += sent;
    }
    const ScheduleSummary& summary = schedule.summary;
    const double mean = summary.collectives > 0 ? (summary.exposed + summary.slowed) / summary.collectives : 1;
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      const auto found = sums.find(kind_of(TensorId(t)));
      weights_.sent_of.push_back(found == sums.end() ? mean : found->second.first / found->second.second);
    }
    for (const Tie& tie : graph.ties) weights_.sent_of[tie.output.index()] = weights_.sent_of[tie.input.index()];
  }

  std::optional<Assignment> Finish(const KeptBound& bound) {
    Assignment result = std::move(best_.assignment);
    for (OpChoice& choice : result.ops) choice = {.candidate = choice.candidate};
    result.price_unit = kUnitOfOptimal;
    result.conflicts.clear();
    result.has_bound = true;
    result.lower_bound_seconds = std::min(bound.sum, best_.plan.total.seconds());
    if (by_schedule_ && bound.schedule > 0)
      result.schedule_bound_seconds = std::min(bound.schedule, best_.schedule.summary.step);
    return result;
  }

  const Problem& problem_;
  const StrategyOptions& options_;
  const SearchOptions& search_;
  const bool by_schedule_;
  Known best_, other_;  // the latter is what is being tried
  ReductionMemory reductions_;
  PriceWeights weights_;
};

// Another uniformity than the earlier plan's is work, too; that one goes on unasked.
bool AsksForWork(const StrategyOptions& options) {
  const auto is_asked = [&](const char* option) { return options.values.contains(option); };
  if (std::ranges::any_of(kAsksForWork, is_asked)) return true;
  const auto uniform = options.values.find("uniform");
  if (uniform == options.values.end()) return false;
  const double* share = std::get_if<double>(&uniform->second);
  return share == nullptr || options.start_answer->plan->options.uniform != *share;
}

}  // namespace

bool LeadsAstray(const Problem& problem, const StrategyOptions& options) {
  if (!options.start_answer || options.only_bound || AsksForWork(options)) return false;
  return !FindChangedPins(*problem.graph, options.start_answer->pins, problem.pins).empty();
}

std::optional<Assignment> Replan(const Problem& problem, const StrategyOptions& options, const SearchOptions& search) {
  if (!options.start_answer || options.only_bound || AsksForWork(options)) return std::nullopt;
  const auto is_known = [](const auto& signature) { return signature.has_value(); };
  if (!std::ranges::all_of(options.start_signatures, is_known)) return std::nullopt;
  return Replanner(problem, options, search).Run();
}

}  // namespace sbp
