// Graph <-> message.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "base/status.h"
#include "graph/graph.h"
#include "schemas/graph.pb.h"

namespace sbp {

void GraphToMessage(const Graph& graph, sbp_plan::v1::Graph& message);
// The graph, verified. Errors name the tensor or op; `where`, when not empty, comes first.
Result<Graph> GraphFromMessage(const sbp_plan::v1::Graph& message, std::string_view where);

// The same with ops and described tensors one at a time, as a graph of a million ops takes several times its memory as
// messages. They come as they stand in a binary document: all that `first` holds, parameters, tensors, ops, all that
// `last` holds.
struct GraphParts {
  std::function<void(const sbp_plan::v1::Graph& first)> first;
  std::function<void(const sbp_plan::v1::Tensor&)> parameter;
  std::function<void(const sbp_plan::v1::Tensor&)> tensor;
  std::function<void(const sbp_plan::v1::Op&)> op;
  std::function<void(const sbp_plan::v1::Graph& last)> last;
};
// Each message is valid during its call only.
void GraphToMessages(const Graph& graph, std::string_view kind, const GraphParts& parts);

// Number `index` of the ops or tensors; the message is valid until the next call.
struct GraphEntries {
  size_t num_ops = 0, num_tensors = 0;
  std::function<Result<const sbp_plan::v1::Op*>(size_t index)> op;
  std::function<Result<const sbp_plan::v1::Tensor*>(size_t index)> tensor;
};
// `message` holds all else.
Result<Graph> GraphFromMessages(const sbp_plan::v1::Graph& message, const GraphEntries& entries,
                                std::string_view where);

}  // namespace sbp
