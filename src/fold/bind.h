// Binds the symbolic dimensions of a graph's inputs to numbers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "fold/resolve_options.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"

namespace sbp {

// Gives every input a static shape and notes the symbols' values in graph.bindings. Errors: see Resolve.
Status BindInputs(Graph& graph, const ResolveOptions& options);

// `type` with the dimensions filled in that `bindings` decide; the others stay open.
TensorType WithBindings(const TensorType& type, const std::vector<std::string>& symbols,
                        const std::map<std::string, int64_t>& bindings);

}  // namespace sbp
