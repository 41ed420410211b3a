// Graphs, and a plan, that use every field of their documents.
#pragma once

#include <cstdint>

#include "graph/graph.h"
#include "plan/plan.h"

namespace sbp {

// Every kind of attribute, literal, pin, reference; a subgraph; ties; odd names.
Graph FullGraph();
// A random valid graph, numbered as readers number.
Graph RandomGraph(uint32_t seed, int num_ops);
// A plan of a small graph on data=2,model=4 with every field set.
Plan FullPlan();

}  // namespace sbp
