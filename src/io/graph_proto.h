// Graph <-> message.
#pragma once

#include <string_view>

#include "base/status.h"
#include "graph/graph.h"
#include "schemas/graph.pb.h"

namespace sbp {

void GraphToMessage(const Graph& graph, sbp_plan::v1::Graph& message);
// The graph, verified. Errors name the tensor or op; `where`, when not empty, comes first.
Result<Graph> GraphFromMessage(const sbp_plan::v1::Graph& message, std::string_view where);

}  // namespace sbp
