// A training graph from a forward one: loss, cotangents, gradients of parameters.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "grad/request.h"
#include "graph/graph.h"
#include "remat/recompute.h"
#include "rule/rule_set.h"

namespace sbp {

struct GradGraph {
  Graph graph;
  std::vector<std::string> unreachable;  // asked for by name, and the loss does not depend on them
  std::vector<std::string> constants;    // of a training step: float parameters that it leaves as they are
  RematSummary remat;
};

// The graph (resolved) with outputs "loss" (where --loss makes one) and "grad/P" for each parameter P asked for, those
// of the model where cotangents are given, and nothing that these do not need. With an optimizer the gradients are no
// outputs, but what AddUpdates makes of them; then only weights are differentiated by (FindTrainable), unless
// parameters are asked for. A pattern that matches nothing, an integer parameter asked for by name, a request whose
// parts do not fit, and what AddLoss, Differentiate, ParseOptimizer and AddUpdates say are errors (kBadInput).
Result<GradGraph> MakeGradGraph(Graph graph, const RuleSet& rules, const GradRequest& request);

// What a user should know of it, a line each: which parameters are not trained, what the loss does not depend on.
std::vector<std::string> NotesOn(const GradGraph& made);

}  // namespace sbp
