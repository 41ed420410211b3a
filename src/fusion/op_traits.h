// What an op is to a kernel group: follows from the primitives that it is or expands into, not from its name.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "rule/rule_set.h"

namespace sbp {

struct OpTraits {
  enum class Kind : uint8_t {
    kView,         // no kernel
    kMove,         // transposes, broadcasts, slices: neighbours may absorb them
    kLight,        // element-wise, cast, select, random, iota, join and reduce primitives, with moves
    kContraction,  // one product or convolution, and light ones
    kAnchor,       // all others: windows, gathers, sorts, control flow, several contractions
  };
  Kind kind = Kind::kAnchor;
  // Of light ops that reduce: elements of their reductions' results, where each reduces the last dimensions of its
  // operand; -1 where one reduces others.
  bool reduces = false;
  int64_t rows = 0;
  bool exponentiates = false, sums = false;  // of softmax
  bool joins = false;                        // is it a join of parts, and nothing else?
  bool convolves = false;                    // of contractions
  // Of moves: its result does not lie in the operand by strides, as it repeats elements or mixes dimensions.
  bool spreads = false;
};

// Per op. `graph` is resolved. Each distinct question to the rules is asked once.
std::vector<OpTraits> TraitsOfOps(const Graph& graph, const RuleSet& rules);

}  // namespace sbp
