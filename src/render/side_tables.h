// Side tables: masks, rotary tables, time embeddings. Drawn where they are computed they are long edges across all
// layers; so they are set apart, and named beside those who read them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"

namespace sbp {

// Where an outline puts them.
inline constexpr const char* kSideTablesScope = "side tables";

// Per op: does it make a side table, or is it only there for one? A side table follows from small parameters, numbers
// and positions (inputs of integers or truth values, or of at most one dimension) alone, and is read at four places or
// more that lie more than half the forward pass apart. Linear.
std::vector<bool> FindSideTables(const Graph& graph);

// Per tensor: is it an input that is read at as many places, as far apart? Masks, and what cross-attention reads.
std::vector<bool> FindSideInputs(const Graph& graph);

// Inputs that one node of a drawing alone reads, by that node. `node_of_op`: that of an op of the graph; negative:
// none.
std::map<uint32_t, std::set<TensorId>> InputsOfOneReader(const Graph& graph,
                                                         const std::function<int32_t(uint32_t)>& node_of_op);

}  // namespace sbp
