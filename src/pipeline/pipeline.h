// The planning pipeline: load, resolve, problem, strategy, evaluate. Each stage can be timed, verified and dumped.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "cluster/cluster.h"
#include "fold/resolve.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "rule/rule_set.h"
#include "sbp/mesh.h"
#include "strategy/strategy.h"

namespace sbp {

// Around every stage: how long it took, and its canonical text on demand.
struct StageObserver {
  std::function<void(std::string_view stage)> begin;
  std::function<void(std::string_view stage, double seconds)> end;
  std::function<void(int number, std::string_view stage, const std::function<std::string()>& dump)> dump;
  std::function<bool()> cancelled;
};

// A model file in memory, in any of the encodings, as a graph that may still have symbols. Small values in external
// data are read beside `path`, where that is given.
Result<Graph> LoadModel(std::string_view bytes, std::string_view where, const std::string& path = "");

struct PlanRequest {
  std::string model_path;  // as given
  std::string model_fingerprint;
  Graph graph;                        // resolved
  std::vector<std::string> warnings;  // of resolving
  Mesh mesh;
  Cluster cluster;
  PlanOptions options;
  std::vector<std::pair<std::string, std::string>> pins;  // text, where
  StrategyOptions strategy;                               // `fixed`: the assignment given
  std::shared_ptr<const Plan> start;                      // the plan that strategy.start_signatures are of; may be null
  // Pins of the ways in which the field spreads such a graph, as `pins`, made where a strategy asks for them: where it
  // may begin.
  size_t num_ways = 0;
  std::function<Result<std::vector<std::pair<std::string, std::string>>>(size_t way, const Graph& graph)> way;
  // Is a lower bound stated by strategies that find none, as `optimal` finds it? Unset: where the graph has at most
  // kOpsWithBound ops.
  std::optional<bool> bound;
  bool begins_coarser = true;  // a search on three and more axes begins on a coarser mesh (coarser_mesh.h)
  const RuleSet* rules = nullptr;
};
inline constexpr size_t kOpsWithBound = 2000;
// What a request asks, before anybody has chosen. Stays where it is: the problem points into the plan.
struct PosedProblem {
  Plan plan;  // without decisions
  Problem problem;
};
// Stages, in order: graph (ties, verified), problem. Cancelled: error kNoPlan.
Result<std::unique_ptr<PosedProblem>> PoseProblem(PlanRequest request, const StageObserver& observer = {});

// The same stages, then: strategy, bound (where the strategy finds none and one is wanted), evaluate. Cancelled: error
// kNoPlan.
Result<Plan> MakePlan(PlanRequest request, const StageObserver& observer = {});

// The program's version, "0.1.0", as plans record it.
std::string_view Version();

// The problem that a plan answers, built again from the plan alone (its graph, rules, pins, flags). Used by explain,
// fixed and check. The problem points into `plan`, which must outlive it and stay where it is.
Result<Problem> RebuildProblem(const Plan& plan, const RuleSet& rules);

// Ties found by name: an output whose name equals an input's or parameter's name up to a prefix or suffix that all such
// pairs share ("new.w" and "w", "w_out" and "w", "new.h.w" and "net/h/w"; separators count as equal), with equal type.
// When several affixes fit, the one that most pairs share; none when two fit equally many. Of those, the updates:
// computed from the input and something else, two or more by ops of one type, or one of a parameter. None of StableHLO,
// which says itself what is donated to which result.
std::vector<Tie> FindTiesByName(const Graph& graph);

}  // namespace sbp
