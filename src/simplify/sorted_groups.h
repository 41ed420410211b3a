// Numbers and places of rows, as exporters of sorted experts write them.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "graph/graph.h"

namespace sbp::simplify {

// The only element of a literal. Nothing: it is no literal, or has more.
std::optional<double> NumberOf(const Graph& graph, TensorId id);

// 0, 1, ... up to its number of elements, whatever its shape and type: a literal, or a Range.
bool IsIota(const Graph& graph, TensorId id);

// Is `groups` what `sorted` is, which holds numbers from 0 to `count` - 1 in ascending order, counted again: how many
// of the ends of groups (the running sums of how many rows have each number) each row is not before? `unsorted`: the
// same numbers in another order, which may be what is counted.
bool AreSortedGroups(const Graph& graph, TensorId groups, TensorId sorted, TensorId unsorted, int64_t count);

}  // namespace sbp::simplify
