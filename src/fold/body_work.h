// What running a resolved subgraph once costs: pricing of If, Loop and Scan, which are kept whole.
#pragma once

#include "fold/context.h"
#include "graph/graph.h"

namespace sbp {

struct BodyWork {
  double flops = 0;
  double bytes = 0;  // read and written, each operand and result of each op once
};
BodyWork WorkOfGraph(FoldContext& context, const Graph& graph);

}  // namespace sbp
