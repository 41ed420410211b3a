// The edges of an actor graph: who must have run before whom, and how often ahead one may be.
#pragma once

#include <vector>

#include "runtime/actor_graph.h"

namespace sbp {

// All edges of the tasks and of the two actors of inputs and outputs, by (from, to), each pair once with the fewest
// tokens. `outputs` are the registers that are handed out. Linear in reads, writes and reused memory.
std::vector<ActorEdge> MakeActorEdges(const Plan& plan, const PhysicalPlan& physical,
                                      const std::vector<uint32_t>& outputs);

}  // namespace sbp
