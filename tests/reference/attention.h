// Softmax attention of heads, shared by the operators of the standard and of onnxruntime.
#pragma once

#include <functional>

#include "reference/interpreter.h"

namespace sbp::reference {

// (batch, positions, heads * size) to (batch, heads, positions, size), and back.
Array SplitHeads(const Array& packed, int64_t heads);
Array MergeHeads(const Array& heads);
// `past` and then `added` along dimension 2.
Array AppendPositions(const Array& past, const Array& added);

// The element of `a` under an index of a larger tensor, aligned at the right; dimensions of 1 repeat.
double BroadcastAt(const Array& a, const Index& at);

// All heads of one rank. Of batch b, query head i uses key/value head i / (query heads / key heads).
struct AttentionHeads {
  Array q, k, v;                                              // (batch, heads, positions, size)
  std::function<double(const Index& at, double score)> mask;  // at: batch, query head, query, key, all local
  std::function<double(int64_t head)> sink;                   // takes part in the softmax's sum alone; empty: none
};
struct AttentionScores {
  Array y;                     // (batch, query heads, queries, value size)
  Array raw, masked, weights;  // (batch, query heads, queries, keys): before the mask, after it, after the softmax
};
AttentionScores Attend(const AttentionHeads& heads, double scale);

// Turns pairs of the first 2 * angles elements of a head: (first, second) half, or neighbours if interleaved.
void Rotate(Array& x, bool interleaved, int64_t angles,
            const std::function<double(bool sine, const Index& at, int64_t angle)>& table);

}  // namespace sbp::reference
