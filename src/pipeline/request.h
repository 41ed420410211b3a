// What the planning pipeline is asked, and who watches it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "cluster/cluster.h"
#include "graph/graph.h"
#include "plan/plan.h"
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

}  // namespace sbp
