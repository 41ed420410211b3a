// Keys and values that are repeated for each query head of their group: attention groups the heads itself, and reads
// each key once.
#include <cstdint>
#include <optional>
#include <string>
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
  bool IsComputed(TensorId id) const { return id.index() < computed_.size() && computed_[id.index()]; }
  const Shape& ShapeOf(TensorId id) const { return graph_.tensor(id).type.shape; }

  // Is a view of `source` what repeats each of its heads for as many others?
  bool Repeats(const ElementView& view, const Shape& source, const Shape& repeated) const {
    const int64_t heads = source[1], times = repeated[1] / heads;
    ElementView wanted(source);
    return wanted.Reshape({source[0], heads, 1, source[2], source[3]}) &&
           wanted.Expand({source[0], heads, times, source[2], source[3]}) && wanted.Reshape(repeated) && view == wanted;
  }

  // The tensor of fewer heads that moves repeat to make `id`, the farthest one, and the names of the moves.
  struct Source {
    TensorId id;
    std::vector<std::string> ops;
  };
  std::optional<Source> SourceOf(TensorId id) const {
    std::optional<Source> best;
    const Shape& repeated = ShapeOf(id);
    Route route;
    for (TensorId at = id; route.size() < kMostRepeatMoves;) {
      const Op* op = ProducerOf(graph_, at);
      const size_t result = graph_.tensor(at).producer_index;
      if (op == nullptr || !op->signature_pin.empty() || !IsMove(graph_, *op, result)) break;
      if (at != id && graph_.tensor(at).layout_pin.size() > 0) break;
      route.emplace_back(op, result);
      at = op->inputs[0];
      const Shape& shape = ShapeOf(at);
      if (IsComputed(at) || shape.size() != 4 || shape[1] >= repeated[1] || repeated[1] % shape[1] != 0) continue;
      ElementView view(shape);
      bool is_view = true;
      for (size_t i = route.size(); is_view && i-- > 0;)
        is_view = ApplyMove(graph_, *route[i].first, route[i].second, view);
      if (!is_view || !view.Reshape(repeated) || !Repeats(view, shape, repeated)) continue;
      best = Source{at, {}};
      for (size_t i = route.size(); i-- > 0;) best->ops.push_back(route[i].first->name);
    }
    return best;
  }

  bool Group(Op& op) {
    if (op.inputs.size() < 3 || !op.signature_pin.empty()) return false;
    for (size_t i = 0; i < 3; ++i) {
      if (!op.inputs[i].valid() || ShapeOf(op.inputs[i]).size() != 4 || IsComputed(op.inputs[i])) return false;
    }
    // Earlier keys, and the results that hold all of them, have the repeated heads.
    for (size_t i = 4; i < op.inputs.size() && i < 6; ++i) {
      if (op.inputs[i].valid()) return false;
    }
    for (size_t r = 1; r < op.outputs.size() && r < 3; ++r) {
      if (op.outputs[r].valid()) return false;
    }
    const std::optional<Source> key = SourceOf(op.inputs[1]), value = SourceOf(op.inputs[2]);
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

bool RepeatedHeads(Graph& graph, const std::vector<bool>& computed) { return HeadGrouper(graph, computed).Run(); }

}  // namespace sbp::simplify
