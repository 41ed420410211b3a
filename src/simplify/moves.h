// Ops that only move elements: what view they make of their first operand, and which element each element of a result
// comes from. The two are written independently of each other: every rewrite is checked with the second.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "sbp/shard_math.h"
#include "simplify/view.h"

namespace sbp {

// The op that writes a tensor; null: none.
const Op* ProducerOf(const Graph& graph, TensorId tensor);

// Does only running decide a size of the tensor? `computed`: as of SimplifyPass.
bool IsComputed(const std::vector<bool>& computed, TensorId tensor);

// Does result `result` of the op only move elements of the op's first operand, at positions known now? Types of operand
// and result are static tensors that are not empty.
bool IsMove(const Graph& graph, const Op& op, size_t result);

// Applies the op to a view whose shape is that of its first operand. False: the result is no view. Requires IsMove.
bool ApplyMove(const Graph& graph, const Op& op, size_t result, ElementView& view);

// Does the op take a part of its operand, rather than all of it?
bool TakesPart(const Graph& graph, const Op& op);

// Is it a Gather at many places? A few other moves say more of where its elements are.
bool PicksPlaces(const Graph& graph, const Op& op);

// The flat index into the first operand of element `index` of a result. Requires IsMove.
int64_t SourceOf(const Graph& graph, const Op& op, size_t result, int64_t index);

// Is tensor `to`, followed back through moves to `from`, the same as `view` of it says? Looks at all elements of small
// tensors and at a fixed sample of larger ones.
using Route = std::vector<std::pair<const Op*, size_t>>;  // ops and results, from the last to the first
bool SameMoves(const Graph& graph, const Route& a, const Route& b, const Shape& result);

}  // namespace sbp
