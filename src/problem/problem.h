// Problem: what strategies see. Nodes with candidates, tensors with types and users, prices on demand; no rules files, no
// clocks, no command line.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "boxing/boxing.h"
#include "graph/graph.h"
#include "plan/pins.h"
#include "plan/plan.h"
#include "rule/candidates.h"
#include "rule/rule_set.h"

namespace sbp {

struct Problem {
  const Graph* graph = nullptr;
  Mesh mesh;
  UseTable uses;
  Pins pins;
  std::vector<CandidateListRef> candidates;       // per op, shared by equal ops
  std::vector<uint32_t> candidate_class;          // per op: equal numbers share a list
  std::vector<int> batch_axis;                    // per tensor: dimension, or -1 (absent)
  std::vector<std::vector<TensorId>> operands;    // per op: OperandsOf
  std::shared_ptr<BoxingTable> boxing;
  // Seconds of candidate c of op o on the busiest device (roofline). Cached by class.
  double ComputeSeconds(OpId op, size_t candidate) const;

  std::vector<std::shared_ptr<std::vector<double>>> compute_seconds_by_class;  // NaN: not yet priced
  std::vector<std::string> warnings;              // ops without a rule, bounded shapes
};

struct ProblemOptions {
  CandidateOptions candidates;
  bool strict = false;  // an op without a rule is an error
};

// Instantiates every op's rule (once per distinct op), makes candidates, propagates batch axes: data inputs have axis 0,
// what derives from parameters only has none. Error (kBadInput): an op's arguments fit no overload, in strict mode an op
// without a rule.
Result<Problem> BuildProblem(const Graph& graph, const RuleSet& rules, const Mesh& mesh, const Cluster& cluster, Pins pins,
                             const ProblemOptions& options = {});

// Indices of the candidates of `op` that agree with its pins. Error (kNoPlan): none does; lists the op's signatures.
Result<std::vector<uint32_t>> AllowedCandidates(const Problem& problem, OpId op);

}  // namespace sbp
