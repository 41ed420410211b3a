#include "strategy/optimal/what_if.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>

#include "base/ids.h"
#include "base/status.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "search/cost_network.h"
#include "search/solve.h"
#include "strategy/evaluate.h"
#include "strategy/optimal/candidate_lists.h"
#include "strategy/optimal/layout_bound.h"
#include "strategy/optimal/layout_network.h"
#include "strategy/optimal/network_size.h"
#include "strategy/optimal/search_options.h"

namespace sbp {
namespace {

constexpr double kEffortOfAll = 0.5;  // of the search that bounds the others
constexpr size_t kCandidates = 8;     // of each op, where not all can be looked at together
constexpr int64_t kWorkOfAnswers = 600'000'000;
constexpr double kNever = std::numeric_limits<double>::infinity();

// Only one candidate of the node is left.
void Force(CostNetwork& network, int32_t node, int32_t candidate) {
  const std::span<const int64_t> all = network.costs[network.nodes[node].costs];
  std::vector<int64_t> costs(all.size(), kInfiniteCost);
  costs[candidate] = all[candidate];
  if (!network.integral) {
    std::vector<double> fractions(all.size(), static_cast<double>(kInfiniteCost));
    fractions[candidate] = network.fractions[network.nodes[node].costs][candidate];
    network.fractions.push_back(std::move(fractions));
  }
  network.nodes[node].costs = network.costs.AddDistinct(costs);
}

class WhatIf {
 public:
  WhatIf(const Problem& problem, const LayoutNetwork& layouts, const Assignment& best, OpId op,
         const StrategyOptions& options)
      : problem_(problem), layouts_(layouts), best_(best), op_(op), options_(options) {
    priced_.graph = *problem.graph;
    priced_.mesh = problem.mesh;
    priced_.cluster = problem.boxing->cluster();
    priced_.options.memory_limit = options.memory_limit;
  }

  // Where the network has some candidates only, its bounds say nothing; `bound` knows all.
  void BoundBy(const LayoutBound& bound, const CandidateLists& all) {
    chosen_ = true;
    const std::vector<double> excess = bound.Excess(op_);
    const CandidateLists::List& list = all.of(op_);
    for (size_t i = 0; i < list.size(); ++i) at_least_[list[i]] = bound.bound() + excess[i];
  }

  std::vector<ForcedStep> Steps(std::span<const uint32_t> candidates, const ForcedWork& work) {
    std::vector<ForcedStep> steps;
    for (const uint32_t candidate : candidates) {
      const auto known = at_least_.find(candidate);
      const bool is_priced = steps.size() < work.priced;
      steps.push_back({known == at_least_.end() ? 0 : known->second, is_priced ? SecondsOf(With(candidate)) : kNever});
    }
    const size_t searched = std::min(work.searched, candidates.size());
    for (size_t i = 0; i < searched && !Cancelled(); ++i) SearchWith(candidates[i], work.effort, steps[i]);
    if (searched < candidates.size() && !Cancelled() && !chosen_)
      BoundAll(candidates.subspan(searched), &steps[searched]);
    return steps;
  }

 private:
  bool Cancelled() const { return options_.cancelled && options_.cancelled(); }
  int32_t Node() const { return LayoutNetwork::node_of(op_); }

  Assignment With(uint32_t candidate) const {
    Assignment assignment = best_;
    assignment.ops[op_.index()].candidate = candidate;
    return assignment;
  }

  // Of the assignment as a plan; infinity where it is none or does not fit.
  double SecondsOf(const Assignment& assignment) {
    const EvaluateOptions price{.reasons = false, .memory = options_.memory_limit.has_value()};
    return Evaluate(problem_, assignment, priced_, price).ok() ? priced_.total.seconds() : kNever;
  }

  SolveOptions SearchFrom(const Assignment& assignment, double effort) const {
    SolveOptions search;
    search.effort = effort;
    const SearchOptions own = SearchOptionsOf(options_);
    search.threads = own.threads;
    search.seed = own.seed;
    search.stop = options_.cancelled;
    if (Result<std::vector<int32_t>> start = layouts_.Write(assignment); start.ok()) search.start = *std::move(start);
    return search;
  }

  // The candidate's number in the network; none: it is not worth a look.
  std::optional<int32_t> NumberOf(uint32_t candidate) const {
    const std::span<const uint32_t> known = layouts_.candidates_of(op_);
    const auto found = std::find(known.begin(), known.end(), candidate);
    if (found == known.end()) return std::nullopt;
    return static_cast<int32_t>(found - known.begin());
  }

  void SearchWith(uint32_t candidate, double effort, ForcedStep& step) {
    const std::optional<int32_t> number = NumberOf(candidate);
    if (!number) return;
    CostNetwork network = layouts_.network();
    Force(network, Node(), *number);
    Assignment assignment = With(candidate);
    const SolveResult solved = Solve(network, SearchFrom(assignment, effort));
    if (!chosen_) step.at_least = solved.proved_infeasible ? kNever : solved.lower_bound;
    if (solved.evaluation.forbidden) return;
    layouts_.Read(solved.choice, assignment);
    step.at_most = std::min(step.at_most, SecondsOf(assignment));
  }

  void BoundAll(std::span<const uint32_t> candidates, ForcedStep* steps) const {
    SolveOptions search = SearchFrom(best_, kEffortOfAll);
    search.forced = true;
    search.forced_node = Node();
    const SolveResult solved = Solve(layouts_.network(), search);
    if (solved.forced.empty()) return;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (const std::optional<int32_t> number = NumberOf(candidates[i])) {
        steps[i].at_least = solved.forced[Node()][*number];
      }
    }
  }

  const Problem& problem_;
  const LayoutNetwork& layouts_;
  const Assignment& best_;
  const OpId op_;
  const StrategyOptions& options_;
  bool chosen_ = false;
  std::unordered_map<uint32_t, double> at_least_;  // by candidate
  Plan priced_;                                    // the last one
};

}  // namespace

Result<std::vector<ForcedStep>> StepsIfForced(const Problem& problem, const Assignment& best, OpId op,
                                              std::span<const uint32_t> candidates, const ForcedWork& work,
                                              const StrategyOptions& options) {
  SBP_ASSIGN_OR_RETURN(const CandidateLists all, CandidateLists::All(problem));
  if (FitsNetwork(problem, all, false)) {
    SBP_ASSIGN_OR_RETURN(const LayoutNetwork layouts,
                         LayoutNetwork::Build(problem, {.memory_limit = options.memory_limit, .relaxed = true}));
    return WhatIf(problem, layouts, best, op, options).Steps(candidates, work);
  }
  Plan plan;
  plan.graph = *problem.graph;
  plan.mesh = problem.mesh;
  plan.cluster = problem.boxing->cluster();
  SBP_RETURN_IF_ERROR(Evaluate(problem, best, plan, {.reasons = false, .memory = false}));
  LayoutBound bound(problem, all, plan.total.seconds());
  bound.Ascend(kWorkOfAnswers, options.cancelled);
  std::vector<Assignment> kept = {best};
  for (size_t i = 0; i < std::min(work.searched, candidates.size()); ++i) {
    kept.push_back(best);
    kept.back().ops[op.index()].candidate = candidates[i];
  }
  const CandidateLists chosen = ChooseCandidates(problem, all, all, bound, kNever, kept, kCandidates);
  SBP_ASSIGN_OR_RETURN(
      const LayoutNetwork layouts,
      LayoutNetwork::Build(problem, {.memory_limit = options.memory_limit, .lists = &chosen, .start = &best}));
  WhatIf what_if(problem, layouts, best, op, options);
  what_if.BoundBy(bound, all);
  return what_if.Steps(candidates, work);
}

Result<std::vector<std::vector<ForcedStep>>> StepsIfForced(const Problem& problem, const Assignment& best,
                                                           std::span<const ForcedQuestion> questions,
                                                           const ForcedWork& work, const StrategyOptions& options) {
  std::vector<std::vector<ForcedStep>> answers;
  SBP_ASSIGN_OR_RETURN(const CandidateLists all, CandidateLists::All(problem));
  if (!FitsNetwork(problem, all, false)) return answers;
  SBP_ASSIGN_OR_RETURN(const LayoutNetwork layouts,
                       LayoutNetwork::Build(problem, {.memory_limit = options.memory_limit, .relaxed = true}));
  for (const ForcedQuestion& question : questions) {
    answers.push_back(WhatIf(problem, layouts, best, question.op, options).Steps(question.candidates, work));
  }
  return answers;
}

}  // namespace sbp
