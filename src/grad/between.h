// What lies between what is differentiated and what by.
#pragma once

#include <span>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"

namespace sbp {

// A result of the graph and its cotangent, a tensor of the same type.
struct Seed {
  TensorId tensor, cotangent;
};

// Per tensor: does it depend on the targets, by numbers that may vary a little?
std::vector<bool> DependsOn(const Graph& graph, std::span<const TensorId> targets);

// Per op of the graph: do the seeds depend on the targets through it?
std::vector<bool> OpsBetween(const Graph& graph, std::span<const TensorId> targets, std::span<const TensorId> seeds);

}  // namespace sbp
