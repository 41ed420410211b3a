// Exact min-sum elimination: nodes are eliminated one by one, each leaving the table of its best cost for every choice
// of its neighbours. The work grows with the tables, so with the width of the order; where that is low (chains of equal
// layers, and what a good bound leaves of others) it is the whole answer. Memory is not seen here.
#pragma once

#include <cstdint>
#include <vector>

#include "search/core.h"
#include "search/elimination_graph.h"

namespace sbp {

// Some nodes of a core, each with the candidates that are left to it and what those cost by themselves (edges to nodes
// outside included, if they count). Edges between the nodes are the core's.
struct EliminationPart {
  std::vector<int32_t> nodes;
  std::vector<std::vector<int32_t>> candidates;  // per node, not empty
  std::vector<std::vector<double>> costs;        // like `candidates`
};

struct EliminationResult {
  bool complete = false;        // it was not given up
  bool found = false;           // some choice is not forbidden
  std::vector<int32_t> choice;  // the cheapest: a candidate per node of the part; the first of equal ones
  int64_t work = 0;             // entries looked at
};

// The nodes of a part, by their place in it.
EliminationGraph GraphOf(const Core& core, const EliminationPart& part);

// Eliminates in the order of least tables. Gives up before it begins when that takes more than `most_work` entries, or
// too much memory.
EliminationResult Eliminate(const Core& core, const EliminationPart& part, int64_t most_work);

}  // namespace sbp
