// Other spellings of the same graph, with which layouts reach further: exporters write the transposition of keys as
// Reshape, Transpose, Reshape, and three projections as one whose columns are cut apart afterwards.
//
// Every rewrite of moves is checked before it is made, by following indices through the ops before and after it
// (moves.h). Tensors and ops that remain keep their names; an op that stands for others lists them in its metadata.
#pragma once

#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace sbp {

struct SimplifyPass {
  std::string_view name;
  // `computed`: per tensor, whether only running decides a size of it; may be shorter than the tensors (the others are
  // known). True: something changed. What becomes dead stays, for Prune.
  bool (*run)(Graph& graph, const std::vector<bool>& computed);
  // What is differentiated is written so before: gathered experts are weights once per token, and so would be what is
  // kept of them and their gradients. Such a pass leaves every parameter as it is.
  bool before_grad = false;
};
// In the order in which they run.
const std::vector<SimplifyPass>& AllSimplifyPasses();

// Runs all passes, or those before differentiation alone, on a graph whose tensors all have static types. Linear in the
// graph's size; deterministic.
void Simplify(Graph& graph, const std::vector<bool>& computed = {}, bool before_grad = false);

namespace simplify {
bool BatchedProducts(Graph& graph, const std::vector<bool>& computed);       // batched_products.cc
bool BiasedProducts(Graph& graph, const std::vector<bool>& computed);        // biased_products.cc
bool CastsLike(Graph& graph, const std::vector<bool>& computed);             // casts_like.cc
bool CausalMasks(Graph& graph, const std::vector<bool>& computed);           // causal_masks.cc
bool EinsumAttention(Graph& graph, const std::vector<bool>& computed);       // einsum_attention.cc
bool GroupExperts(Graph& graph, const std::vector<bool>& computed);          // group_experts.cc
bool JoinMoves(Graph& graph, const std::vector<bool>& computed);             // join_moves.cc
bool LoopExperts(Graph& graph, const std::vector<bool>& computed);           // loop_experts.cc
bool OneHotRows(Graph& graph, const std::vector<bool>& computed);            // one_hot_rows.cc
bool OrderRows(Graph& graph, const std::vector<bool>& computed);             // order_rows.cc
bool RecomputedPieces(Graph& graph, const std::vector<bool>& computed);      // recomputed_pieces.cc
bool RepeatedHeads(Graph& graph, const std::vector<bool>& computed);         // repeated_heads.cc
bool SpelledActivations(Graph& graph, const std::vector<bool>& computed);    // spelled_activations.cc
bool SpelledAttention(Graph& graph, const std::vector<bool>& computed);      // spelled_attention.cc
bool SpelledAttentionGrad(Graph& graph, const std::vector<bool>& computed);  // spelled_attention_grad.cc
bool SpelledNorms(Graph& graph, const std::vector<bool>& computed);          // spelled_norms.cc
bool SpelledSoftmaxGrad(Graph& graph, const std::vector<bool>& computed);    // spelled_softmax_grad.cc
bool SplitWeights(Graph& graph, const std::vector<bool>& computed);          // split_weights.cc
bool StoppedGradients(Graph& graph, const std::vector<bool>& computed);      // stopped_gradients.cc
bool TransposedExperts(Graph& graph, const std::vector<bool>& computed);     // transposed_experts.cc
bool UnpackHeads(Graph& graph, const std::vector<bool>& computed);           // unpack_heads.cc
bool UnsortRows(Graph& graph, const std::vector<bool>& computed);            // unsort_rows.cc
}  // namespace simplify

}  // namespace sbp
