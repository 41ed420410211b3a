// Walks over all plans of a small problem: the brute force that bounds and searches are held against.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "strategy/evaluate.h"
#include "strategy/strategy.h"

namespace sbp {

// The first candidate of each op; inputs and parameters start where greedy walks have them.
inline Assignment FirstAssignment(const Problem& problem) {
  Assignment assignment;
  assignment.reasons = {"test"};
  assignment.ops.resize(problem.num_ops());
  assignment.sources = InitialSourceLayouts(problem);
  return assignment;
}

inline Plan EvaluatedPlan(const Problem& problem, const Assignment& assignment, const EvaluateOptions& options = {}) {
  Plan plan;
  plan.graph = *problem.graph;
  plan.mesh = problem.mesh;
  plan.cluster = problem.boxing->cluster();
  const Status status = Evaluate(problem, assignment, plan, options);
  EXPECT_TRUE(status.ok()) << status.message();
  return plan;
}

// Inputs and parameters.
inline std::vector<TensorId> SourcesOf(const Graph& graph) {
  std::vector<TensorId> sources;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (!graph.tensors[t].producer.valid()) sources.emplace_back(t);
  }
  return sources;
}

// Whole, or split along the first or the second dimension, on each axis.
inline std::vector<NdSbp> LayoutsOfMatrix(const Mesh& mesh) {
  std::vector<NdSbp> layouts = {NdSbp(mesh.num_axes())};
  for (int axis = 0; axis < mesh.num_axes(); ++axis) {
    const std::vector<NdSbp> before = layouts;
    for (const int dim : {0, 1}) {
      for (NdSbp layout : before) {
        layout[axis] = Sbp::Split(dim);
        layouts.push_back(layout);
      }
    }
  }
  return layouts;
}

// Calls see(assignment) with every candidate of every op and every layout, LayoutsOfMatrix, of these inputs and
// parameters; the others start where greedy walks have them.
template <typename See>
void ForEveryAssignment(const Problem& problem, std::span<const TensorId> sources, See see) {
  const std::vector<NdSbp> layouts = LayoutsOfMatrix(problem.mesh);
  std::vector<size_t> digits(problem.num_ops() + sources.size(), 0);  // the first one turns fastest
  Assignment assignment = FirstAssignment(problem);
  for (;;) {
    for (size_t o = 0; o < problem.num_ops(); ++o) assignment.ops[o].candidate = static_cast<uint32_t>(digits[o]);
    for (size_t s = 0; s < sources.size(); ++s)
      assignment.sources[sources[s].index()] = layouts[digits[problem.num_ops() + s]];
    see(assignment);
    size_t d = 0;
    const auto most = [&] {
      return d < problem.num_ops() ? problem.candidates(OpId(d)).candidates.size() : layouts.size();
    };
    while (d < digits.size() && ++digits[d] == most()) digits[d++] = 0;
    if (d == digits.size()) return;
  }
}

}  // namespace sbp
