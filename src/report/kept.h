// What a training graph keeps for its backward pass, as `grad` prints it in short and `explain --kept` in full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "grad/saved.h"
#include "graph/graph.h"
#include "graph/kept.h"

namespace sbp {

struct KeptFacts {
  std::vector<KeptTensor> kept;
  std::vector<int64_t> device_bytes;  // per tensor of the graph, where it is planned; else empty
  VjpSavings savings;
};

// A line with the totals; bytes by the types of the ops that wrote them, and by RepeatedScope; the largest, equal ones
// of repeated layers as one, with the ops of the backward pass that need them; custom VJPs. At most `rows` of each, the
// rest in a line.
std::string FormatKept(const Graph& graph, const KeptFacts& facts, size_t rows);
// The same, all of it; each tensor singly.
std::string KeptJson(const Graph& graph, const KeptFacts& facts);

}  // namespace sbp
