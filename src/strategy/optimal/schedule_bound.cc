#include "strategy/optimal/schedule_bound.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "boxing/boxing.h"
#include "cost/collective.h"
#include "graph/graph.h"
#include "graph/sections.h"
#include "plan/plan.h"
#include "plan/transition_runs.h"
#include "problem/problem.h"
#include "search/solve.h"
#include "strategy/evaluate.h"
#include "strategy/optimal/bottlenecks.h"
#include "strategy/optimal/candidate_lists.h"
#include "strategy/optimal/layout_bound.h"
#include "strategy/optimal/layout_network.h"
#include "strategy/optimal/network_size.h"
#include "strategy/optimal/price_weights.h"
#include "strategy/optimal/search_options.h"
#include "strategy/strategy.h"

namespace sbp {
namespace {

constexpr double kWorkOfForm = 6e8;     // of LayoutBound, by unit of effort
constexpr double kLeastShare = 0.0625;  // of l
constexpr int kTries = 2, kTriesOfFewOps = 4;
constexpr size_t kFewOpsToBound = 1500;
// Of the bound, and of large graphs of what is open, that another l may add.
constexpr double kWorthATry = 0.005, kWorthOfOpen = 0.05;
constexpr double kSharesAside[] = {0.002, 0.02, 0.1};
constexpr size_t kNearOps[] = {4, 24, 200};
constexpr double kRounding = 1e-12;      // of a sum
constexpr double kShareOfFormGap = 0.6;  // of the gap that is good enough, for the relaxed problem

class Bounder {
 public:
  Bounder(const Problem& problem, const Plan& known, const ScheduleBoundOptions& options, const StrategyOptions& search)
      : problem_(problem),
        known_(known),
        options_(options),
        search_(search),
        bottlenecks_(BottlenecksFor(problem, known)),
        overlap_(known.cluster.device.overlap.value) {}

  ScheduleBound Run() {
    AddLines(known_);
    // By (1), of what is known without a search: with l = 1 / (1 + o) all prices weigh alike; with l = 1 it is
    // o C + (1 - o) (C + K), where no plan's ops take less than each at its best.
    found_.seconds =
        std::max(options_.sum_bound / (1 + overlap_), overlap_ * LeastCompute() + (1 - overlap_) * options_.sum_bound);
    const bool few_ops = problem_.num_ops() < kFewOpsToBound;
    const int tries = few_ops ? kTriesOfFewOps : kTries;
    for (int tried = 0; tried < tries; ++tried) {
      if (IsNear() || (search_.cancelled && search_.cancelled())) break;
      const Try next = std::max(Highest(lines_[0], false), Highest(lines_[1], true));
      const double least =
          std::max(kWorthATry * found_.seconds, (few_ops ? 0 : kWorthOfOpen) * (options_.step - found_.seconds));
      if (next.most <= found_.seconds + least || !tried_.insert({next.waits, next.l}).second) break;
      Solve(FormOf(bottlenecks_, overlap_, next.waits, next.l));
    }
    return std::move(found_);
  }

 private:
  // What a form says of one plan, as a function of l.
  struct Line {
    double at_0 = 0, slope = 0;
    double at(double l) const { return at_0 + slope * l; }
  };
  struct Try {
    double most = 0;  // no bound of this form is more, as some plan shows
    double l = 1;
    bool waits = false;
    bool operator<(const Try& other) const { return most < other.most; }
  };

  double LeastCompute() const {
    double seconds = 0;
    for (size_t o = 0; o < problem_.num_ops(); ++o) {
      if (problem_.candidates(OpId(o)).truncated) continue;  // what was cut off may take less
      const size_t candidates = problem_.candidates(OpId(o)).candidates.size();
      double least = candidates > 0 ? problem_.ComputeSeconds(OpId(o), 0) : 0;
      for (size_t c = 1; c < candidates; ++c) least = std::min(least, problem_.ComputeSeconds(OpId(o), c));
      seconds += least;
    }
    return seconds * (1 - kRounding);
  }

  void AddLines(const Plan& plan) {
    for (const bool waits : {false, true}) {
      const auto value = [&](double l) {
        const ScheduleForm form = FormOf(bottlenecks_, overlap_, waits, l);
        return form.scale * WeightedTotal(plan, form.weights);
      };
      const double half = value(0.5), one = value(1);
      lines_[waits ? 1 : 0].push_back({.at_0 = 2 * half - one, .slope = 2 * (one - half)});
    }
  }

  // Where the least of the lines is greatest: at an end, or where two of them meet.
  static Try Highest(const std::vector<Line>& lines, bool waits) {
    std::vector<double> places = {1, kLeastShare};
    for (size_t a = 0; a < lines.size(); ++a) {
      for (size_t b = 0; b < a; ++b) {
        const double l = (lines[a].at_0 - lines[b].at_0) / (lines[b].slope - lines[a].slope);
        if (l > kLeastShare && l < 1) places.push_back(l);
      }
    }
    Try best{.most = -1, .waits = waits};
    for (const double l : places) {
      double least = lines.front().at(l);
      for (const Line& line : lines) least = std::min(least, line.at(l));
      if (least > best.most) best = {.most = least, .l = l, .waits = waits};
    }
    return best;
  }

  bool IsNear() const { return options_.step - found_.seconds <= options_.gap * options_.step; }

  void Solve(const ScheduleForm& form) {
    const Result<CandidateLists> all = CandidateLists::All(problem_);
    if (!all.ok()) return;
    if (!FitsNetwork(problem_, *all, false)) {
      LayoutBound bound(problem_, *all, WeightedTotal(known_, form.weights), form.weights);
      bound.Ascend(static_cast<int64_t>(kWorkOfForm * std::min(1.0, options_.effort)), search_.cancelled);
      found_.seconds = std::max(found_.seconds, form.scale * bound.bound());
      return;
    }
    const Result<LayoutNetwork> relaxed = LayoutNetwork::Build(
        problem_, {.memory_limit = search_.memory_limit, .relaxed = true, .weights = &form.weights});
    if (!relaxed.ok()) return;
    const SearchOptions given = SearchOptionsOf(search_);
    SolveOptions options;
    options.effort = options_.effort;
    options.threads = given.threads;
    options.seed = given.seed;
    options.stop = search_.cancelled;
    options.gap = kShareOfFormGap * options_.gap;
    if (options_.start != nullptr) {
      Result<std::vector<int32_t>> start = relaxed->Write(*options_.start);
      if (start.ok()) options.start = *std::move(start);
    }
    const SolveResult below = sbp::Solve(relaxed->network(), options);
    if (below.proved_infeasible) return;
    found_.seconds = std::max(found_.seconds, form.scale * below.lower_bound);
    if (below.evaluation.forbidden) return;
    found_.plans.emplace_back();
    relaxed->Read(below.choice, found_.plans.back());
    Plan plan;
    plan.graph = known_.graph;
    plan.mesh = known_.mesh;
    plan.cluster = known_.cluster;
    const bool priced = Evaluate(problem_, found_.plans.back(), plan, {.reasons = false, .memory = false}).ok();
    if (priced) AddLines(plan);
  }

  const Problem& problem_;
  const Plan& known_;
  const ScheduleBoundOptions& options_;
  const StrategyOptions& search_;
  const Bottlenecks bottlenecks_;
  const double overlap_;
  std::array<std::vector<Line>, 2> lines_;  // of the plans known; by (2) second
  std::set<std::pair<bool, double>> tried_;
  ScheduleBound found_;
};

}  // namespace

Bottlenecks BottlenecksFor(const Problem& problem, const Plan& plan) {
  const std::vector<double> seconds = SecondsOfOps(plan);
  const double overlap = plan.cluster.device.overlap.value;
  Bottlenecks best;
  double most = -1;
  for (const double share : kSharesAside) {
    for (const size_t near : kNearOps) {
      Bottlenecks found = FindBottlenecks(problem, seconds, {.share = share, .near = near});
      const double says = WeightedTotal(plan, FormOf(found, overlap, true, 1).weights);
      if (says <= most) continue;
      most = says;
      best = std::move(found);
    }
  }
  return best;
}

ScheduleForm FormOf(const Bottlenecks& bottlenecks, double overlap, bool waits, double l) {
  ScheduleForm form{.weights = {.sent = (1 - l * overlap) / l}, .scale = l};
  if (!waits) return form;
  form.weights.local = 0;
  form.weights.free_ops = bottlenecks.aside;
  for (const bool is_one : bottlenecks.tensors) form.weights.sent_of.push_back(is_one ? 1 / l : form.weights.sent);
  return form;
}

double WeightedTotal(const Plan& plan, const PriceWeights& weights) {
  double seconds = 0;
  const std::vector<double> ops = SecondsOfOps(plan);
  for (size_t o = 0; o < ops.size(); ++o) seconds += weights.IsFree(OpId(o)) ? 0 : ops[o];
  const std::vector<int64_t> runs = RunsOfTransitions(plan, StepRuns(plan.graph));
  for (size_t i = 0; i < runs.size(); ++i) {
    const Transition& transition = plan.transitions[i];
    double once = weights.local * transition.cut_seconds;
    for (const BoxingStep& step : transition.steps)
      once += step.seconds * (RowOf(step.kind).local ? weights.local : weights.SentOf(transition.tensor));
    seconds += static_cast<double>(runs[i]) * once;
  }
  return seconds;
}

std::vector<double> SecondsOfOps(const Plan& plan) {
  const StepRuns runs(plan.graph);
  std::vector<double> seconds;
  for (size_t o = 0; o < plan.graph.ops.size(); ++o)
    seconds.push_back(static_cast<double>(runs.of(OpId(o))) * plan.decision(OpId(o)).compute_seconds);
  return seconds;
}

ScheduleBound BoundSchedules(const Problem& problem, const Plan& known, const ScheduleBoundOptions& options,
                             const StrategyOptions& search) {
  return Bounder(problem, known, options, search).Run();
}

}  // namespace sbp
