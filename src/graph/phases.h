// The phases of a training step, told by scopes: `grad` puts what it adds under "backward" and "optimizer".
#pragma once

#include <cstdint>
#include <string_view>

#include "graph/graph.h"

namespace sbp {

enum class Phase : uint8_t { kForward, kBackward, kOptimizer };
inline constexpr std::string_view kBackwardScope = "backward", kOptimizerScope = "optimizer";
// Of the ops of the forward pass that make a loss.
inline constexpr std::string_view kLossScope = "loss";

Phase PhaseOfScope(std::string_view scope);
inline Phase PhaseOf(const Graph& graph, const Op& op) { return PhaseOfScope(graph.scope_of(op)); }
std::string_view PhaseName(Phase phase);  // "forward"

}  // namespace sbp
