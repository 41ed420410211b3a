#include <algorithm>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "simplify/simplify.h"

namespace sbp {

const std::vector<SimplifyPass>& AllSimplifyPasses() {
  static const std::vector<SimplifyPass> kPasses = {
      {"causal masks", simplify::CausalMasks, true},
      {"batched products", simplify::BatchedProducts, true},
      {"spelled attention", simplify::SpelledAttention, true},
      {"spelled attention grad", simplify::SpelledAttentionGrad},
      {"spelled softmax grad", simplify::SpelledSoftmaxGrad},
      {"einsum attention", simplify::EinsumAttention, true},
      {"repeated heads", simplify::RepeatedHeads, true},
      {"one-hot rows", simplify::OneHotRows, true},
      {"spelled activations", simplify::SpelledActivations, true},
      {"spelled norms", simplify::SpelledNorms, true},
      {"biased products", simplify::BiasedProducts, true},
      {"unsort rows", simplify::UnsortRows, true},
      {"group experts", simplify::GroupExperts, true},
      {"loop experts", simplify::LoopExperts, true},
      {"join moves", simplify::JoinMoves},
      {"unpack heads", simplify::UnpackHeads},
      {"split weights", simplify::SplitWeights},
      {"order rows", simplify::OrderRows},
      {"join moves", simplify::JoinMoves},  // what the parts of weights and rows in order leave
      {"recomputed pieces", simplify::RecomputedPieces},
  };
  return kPasses;
}

namespace {

// Ops that feed no output would count as readers. Tensors keep their numbers.
void DropDeadOps(Graph& graph) {
  std::vector<bool> used(graph.tensors.size());
  for (const TensorId id : graph.outputs) used[id.index()] = true;
  for (const Tie& tie : graph.ties) used[tie.output.index()] = true;
  std::vector<Op> live;  // the last one first
  for (size_t o = graph.ops.size(); o-- > 0;) {
    Op& op = graph.ops[o];
    if (std::ranges::none_of(op.outputs, [&](TensorId id) { return id.valid() && used[id.index()]; })) continue;
    for (const std::vector<TensorId>* operands : {&op.inputs, &op.captures}) {
      for (const TensorId id : *operands) {
        if (id.valid()) used[id.index()] = true;
      }
    }
    live.push_back(std::move(op));
  }
  std::ranges::reverse(live);
  graph.ops = std::move(live);
  for (Tensor& tensor : graph.tensors) tensor.producer = {};
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    for (const TensorId id : graph.ops[o].outputs) {
      if (id.valid()) graph.tensor(id).producer = OpId(o);
    }
  }
}

}  // namespace

void Simplify(Graph& graph, const std::vector<bool>& computed, bool before_grad) {
  DropDeadOps(graph);
  for (const SimplifyPass& pass : AllSimplifyPasses()) {
    if (before_grad && !pass.before_grad) continue;
    if (pass.run(graph, computed)) DropDeadOps(graph);
  }
}

}  // namespace sbp
