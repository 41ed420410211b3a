// Counts the trips of a Loop whose condition is computed from known numbers, by running the condition alone.
#pragma once

#include <cstdint>
#include <optional>

#include "fold/pass_state.h"
#include "graph/graph.h"

namespace sbp {

// `body` takes the iteration, the condition and the carried values, then the op's captures from `first_capture` on.
// Nothing: a number that decides is not known, or more than kMostCountedTrips (less, where ops are many).
std::optional<int64_t> CountTrips(PassState& pass, const Op& op, const Graph& body, size_t first_capture,
                                  std::optional<int64_t> most);

inline constexpr int64_t kMostCountedTrips = 10000;

}  // namespace sbp
