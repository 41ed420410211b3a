#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "simplify/simplify.h"

namespace sbp {

namespace {

struct PassRow {
  SimplifyPass pass;
  // Where it begins: a graph without an op of these types is as it leaves it. Empty: anywhere.
  std::vector<std::string_view> begins_at;
};

const std::vector<PassRow>& AllRows() {
  static const std::vector<PassRow> kRows = {
      {{"stopped gradients", simplify::StoppedGradients, true}, {"sbp::StopGradient"}},
      {{"casts like", simplify::CastsLike, true}, {"CastLike"}},
      {{"causal masks", simplify::CausalMasks, true}, {}},
      {{"batched products", simplify::BatchedProducts, true}, {"Reshape"}},
      {{"spelled attention", simplify::SpelledAttention, true}, {"Softmax"}},
      {{"spelled attention grad", simplify::SpelledAttentionGrad}, {"Softmax"}},
      {{"spelled softmax grad", simplify::SpelledSoftmaxGrad}, {"Exp"}},
      {{"einsum attention", simplify::EinsumAttention, true}, {"Einsum"}},
      {{"repeated heads", simplify::RepeatedHeads, true}, {}},
      {{"one-hot rows", simplify::OneHotRows, true}, {"ScatterElements"}},
      {{"spelled activations", simplify::SpelledActivations, true}, {"Erf", "Exp", "Tanh"}},
      {{"spelled norms", simplify::SpelledNorms, true}, {"Pow", "Sqrt"}},
      {{"biased products", simplify::BiasedProducts, true}, {"MatMul"}},
      {{"unsort rows", simplify::UnsortRows, true}, {"TopK"}},
      {{"group experts", simplify::GroupExperts, true}, {"Gather", "GatherND"}},
      {{"transposed experts", simplify::TransposedExperts, true}, {"sbp::GroupedMatMul"}},
      {{"loop experts", simplify::LoopExperts, true}, {"NonZero"}},
      {{"join moves", simplify::JoinMoves}, {}},
      {{"unpack heads", simplify::UnpackHeads}, {"com.microsoft::GroupQueryAttention"}},
      {{"split weights", simplify::SplitWeights}, {}},
      {{"order rows", simplify::OrderRows, true}, {"Transpose"}},
      {{"join moves", simplify::JoinMoves}, {}},  // what the parts of weights and rows in order leave
      {{"recomputed pieces", simplify::RecomputedPieces}, {}},
  };
  return kRows;
}

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

// Per index of op_types: does an op of the graph have the type?
std::vector<bool> TypesOfOps(const Graph& graph) {
  std::vector<bool> types(graph.op_types.size());
  for (const Op& op : graph.ops) types[op.type] = true;
  return types;
}

bool BeginsIn(const PassRow& row, const Graph& graph, const std::vector<bool>& types) {
  if (row.begins_at.empty()) return true;
  for (size_t t = 0; t < types.size(); ++t) {
    if (types[t] && std::ranges::find(row.begins_at, graph.op_types[t]) != row.begins_at.end()) return true;
  }
  return false;
}

}  // namespace

const std::vector<SimplifyPass>& AllSimplifyPasses() {
  static const std::vector<SimplifyPass> kPasses = [] {
    std::vector<SimplifyPass> passes;
    for (const PassRow& row : AllRows()) passes.push_back(row.pass);
    return passes;
  }();
  return kPasses;
}

void Simplify(Graph& graph, const std::vector<bool>& computed, bool before_grad) {
  DropDeadOps(graph);
  std::vector<bool> types = TypesOfOps(graph);
  for (const PassRow& row : AllRows()) {
    if ((before_grad && !row.pass.before_grad) || !BeginsIn(row, graph, types)) continue;
    if (!row.pass.run(graph, computed)) continue;
    DropDeadOps(graph);
    types = TypesOfOps(graph);
  }
}

}  // namespace sbp
