// The phases of a training step that somebody else traced: torch's aot_autograd, jax.grad, an export of a step as
// outputs. Its ops have no scope "backward" (graph/phases.h); what it returns tells them apart.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/phases.h"

namespace sbp {

// Per op. By scope where one says a phase. Else, of a graph that returns a loss (a float without dimensions), and
// gradients of parameters ("grad/P", as readers name them) or what replaces parameters (ties): forward is all that
// leads to other outputs; optimizer what follows from a parameter and leads to what replaces it alone; backward the
// rest of what leads to a gradient. Linear.
std::vector<Phase> PhasesOfStep(const Graph& graph);

// Do the phases say more than the graph's own scopes?
bool AreTraced(const Graph& graph, const std::vector<Phase>& phases);

// Puts ops of the backward pass and the optimizer below scopes of that name.
void SetPhaseScopes(const std::vector<Phase>& phases, Graph& graph);

}  // namespace sbp
