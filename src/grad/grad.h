// A training graph from a forward one: loss, cotangents, gradients of parameters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "grad/update.h"
#include "graph/graph.h"
#include "rule/rule_set.h"

namespace sbp {

struct GradRequest {
  std::string loss;                     // see AddLoss
  std::vector<std::string> wrt;         // patterns over parameters (* and ?); empty: all floats that the loss reaches
  std::vector<std::string> freeze;      // patterns over parameters that get no gradient
  std::vector<std::string> wrt_inputs;  // patterns over inputs
  bool may_be_zero = false;             // no error where the loss depends on nothing that is asked for
  std::vector<std::string> expanded;    // types of ops that are differentiated through their expansions; "*": all
  std::string compute;                  // bf16 or f16: what f32 parameters are computed with in (grad/precision.h)
  bool hvp = false;                     // also products with the Hessian (grad/second.h)
  UpdateRequest update;                 // with an optimizer the graph is a whole training step

  bool trains() const { return !update.optimizer.optimizer.empty() && update.optimizer.optimizer != "none"; }
};

// A forward tensor that the backward pass reads.
struct Kept {
  std::string tensor, scope;
  int64_t bytes = 0;
  int readers = 0;  // ops of the backward pass
};

struct GradGraph {
  Graph graph;
  std::vector<Kept> kept;                // by name; without parameters and inputs
  std::vector<std::string> unreachable;  // asked for by name, and the loss does not depend on them
  std::vector<std::string> constants;    // of a training step: float parameters that it leaves as they are
};

// The graph (resolved) with outputs "loss" (where --loss makes one) and "grad/P" for each parameter P asked for, those
// of the model where cotangents are given, and nothing that these do not need. With an optimizer the gradients are no
// outputs, but what AddUpdates makes of them; then only weights are differentiated by (FindTrainable), unless
// parameters are asked for. A pattern that matches nothing, an integer parameter asked for by name, a request whose
// parts do not fit, and what AddLoss, Differentiate, ParseOptimizer and AddUpdates say are errors (kBadInput).
Result<GradGraph> MakeGradGraph(Graph graph, const RuleSet& rules, const GradRequest& request);

}  // namespace sbp
