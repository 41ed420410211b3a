// Keys and values that are repeated for each query head of their group: attention groups the heads itself, and reads
// each key once.
#include "simplify/repeated_heads.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/simplified.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"
#include "simplify/moves.h"
#include "simplify/simplify.h"
#include "simplify/view.h"

namespace sbp::simplify {
namespace {

constexpr size_t kMostRepeatMoves = 10;  // moves that repeat

// Is a view of `source` what repeats each of its heads for as many others?
bool Repeats(const ElementView& view, const Shape& source, const Shape& repeated) {
  const int64_t heads = source[1], times = repeated[1] / heads;
  ElementView wanted(source);
  return wanted.Reshape({source[0], heads, 1, source[2], source[3]}) &&
         wanted.Expand({source[0], heads, times, source[2], source[3]}) && wanted.Reshape(repeated) && view == wanted;
}

class HeadGrouper {
 public:
  HeadGrouper(Graph& graph, const std::vector<bool>& computed) : graph_(graph), computed_(computed) {}

  bool Run() {
    bool changed = false;
    for (Op& op : graph_.ops) {
      if (graph_.type_of(op) == "Attention" && Group(op)) changed = true;
    }
    return changed;
  }

 private:
  const Shape& ShapeOf(TensorId id) const { return graph_.tensor(id).type.shape; }

  bool Group(Op& op) {
    if (op.inputs.size() < 3 || !op.signature_pin.empty()) return false;
    for (size_t i = 0; i < 3; ++i) {
      if (!op.inputs[i].valid() || ShapeOf(op.inputs[i]).size() != 4 || IsComputed(computed_, op.inputs[i]))
        return false;
    }
    // Earlier keys, and the results that hold all of them, have the repeated heads.
    for (size_t i = 4; i < op.inputs.size() && i < 6; ++i) {
      if (op.inputs[i].valid()) return false;
    }
    for (size_t r = 1; r < op.outputs.size() && r < 3; ++r) {
      if (op.outputs[r].valid()) return false;
    }
    const std::optional<FewerHeads> key = FewerHeadsOf(graph_, computed_, op.inputs[1]);
    const std::optional<FewerHeads> value = FewerHeadsOf(graph_, computed_, op.inputs[2]);
    if (!key || !value || ShapeOf(key->id)[1] != ShapeOf(value->id)[1]) return false;
    std::vector<std::string> names = key->ops;
    names.insert(names.end(), value->ops.begin(), value->ops.end());
    names.push_back(op.name);
    op.inputs[1] = key->id;
    op.inputs[2] = value->id;
    op.metadata.emplace_back(kSimplifiedFrom, Join(names, ", "));
    return true;
  }

  Graph& graph_;
  const std::vector<bool>& computed_;
};

}  // namespace

std::optional<FewerHeads> FewerHeadsOf(const Graph& graph, const std::vector<bool>& computed, TensorId id,
                                       bool turned) {
  std::optional<FewerHeads> best;
  Shape repeated = graph.tensor(id).type.shape;
  if (turned) std::swap(repeated[2], repeated[3]);
  Route route;
  const size_t most = kMostRepeatMoves - (turned ? 1 : 0);  // turning them back is a move
  for (TensorId at = id; route.size() < most;) {
    const Op* op = ProducerOf(graph, at);
    const size_t result = graph.tensor(at).producer_index;
    if (op == nullptr || !op->signature_pin.empty() || !IsMove(graph, *op, result)) break;
    if (at != id && graph.tensor(at).layout_pin.size() > 0) break;
    route.emplace_back(op, result);
    at = op->inputs[0];
    const Shape& shape = graph.tensor(at).type.shape;
    if (IsComputed(computed, at) || shape.size() != 4 || shape[1] >= repeated[1] || repeated[1] % shape[1] != 0)
      continue;
    ElementView view(shape);
    bool is_view = true;
    for (size_t i = route.size(); is_view && i-- > 0;)
      is_view = ApplyMove(graph, *route[i].first, route[i].second, view);
    if (is_view && turned) view.Transpose({0, 1, 3, 2});
    if (!is_view || !view.Reshape(repeated) || !Repeats(view, shape, repeated)) continue;
    best = FewerHeads{at, {}};
    for (size_t i = route.size(); i-- > 0;) best->ops.push_back(route[i].first->name);
  }
  return best;
}

bool RepeatedHeads(Graph& graph, const std::vector<bool>& computed) { return HeadGrouper(graph, computed).Run(); }

}  // namespace sbp::simplify
