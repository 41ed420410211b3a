// The edges of an actor graph: who must have run before whom, and how often ahead one may be.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/physical_plan.h"
#include "plan/plan.h"
#include "runtime/actors/actor_graph.h"

namespace sbp {

// What a halo reads: registers of its task's operands. The halo of the k-th entry is the k-th actor after the one of
// the outputs.
struct HaloReads {
  uint32_t task = 0;
  std::vector<uint32_t> registers;
};

// All edges of the tasks, of the two actors of inputs and outputs and of the halos, by (from, to), each pair once with
// the fewest tokens. `outputs` are the registers that are handed out; `halos` go by task, ascending. Linear in reads,
// writes and reused memory.
std::vector<ActorEdge> MakeActorEdges(const Plan& plan, const PhysicalPlan& physical,
                                      const std::vector<uint32_t>& outputs, const std::vector<HaloReads>& halos);

}  // namespace sbp
