// The places that an index tensor names, where they are on a grid: known without its elements.
#pragma once

#include <optional>

#include "base/ids.h"
#include "graph/graph.h"
#include "graph/strided_ints.h"

namespace sbp {

// Of an integer tensor of static type, through the arithmetic that exporters spell indices with (Add, Sub, Mul by one
// number, Range, Expand, added dimensions of size 1) down to constants. Nothing: something else.
std::optional<StridedInts> StridesOf(const Graph& graph, TensorId tensor);

}  // namespace sbp
