// Where ops that were added behind all others belong.
#pragma once

#include <cstddef>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "grad/appender.h"
#include "graph/graph.h"

namespace sbp {

// Puts each of `moved` (ascending) directly behind the last of those that write its operands, so that what only it
// reads need not be kept. Ids of ops change.
void MoveBehindProducers(Graph& graph, const std::vector<OpId>& moved);

// Puts the ops from `count` on, one for each of `readers` (ascending), in front of these. Ids of ops change.
void MoveBefore(Graph& graph, size_t count, const std::vector<size_t>& readers);

// Lets the ops of the backward pass that read one of `tensors` (parameters, or casts of them) read it anew, through an
// op sbp::Refetch in front of the first of them, where the forward pass reads it too: it may then be gathered before
// each use, as ZeRO-3 does, in place of being kept from one pass to the other. What the forward pass has moved of them
// (a matrix turned for its product) is moved again behind that. Ids of ops change.
//
// Where such ops go: directly in front, or behind whatever waits for no weight, so that the gradients of a layer's
// weights come before those of its input; but what needs no cotangent, as values of norms, keeps its place unless it
// takes less than what it is made of: it would be made, and live, of all layers at once.
enum class RefetchPlace { kBeforeReader, kLate };
Status RefetchForBackward(const std::vector<TensorId>& tensors, RefetchPlace place, Appender& appender);

}  // namespace sbp
