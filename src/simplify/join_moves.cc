// Chains of moves (Reshape, Transpose, Slice, ...) by the fewest moves that do the same.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/simplified.h"
#include "sbp/shard_math.h"
#include "simplify/graph_edit.h"
#include "simplify/moves.h"
#include "simplify/simplify.h"
#include "simplify/view.h"

namespace sbp::simplify {
namespace {

constexpr size_t kLongest = 10;       // moves looked at in one chain
constexpr size_t kWorthOfGather = 6;  // in moves: more than any view takes

// The shorter spelling of one tensor.
struct Shorter {
  Route route;  // what it replaces
  TensorId source;
  std::vector<ElementView::Step> steps;
  size_t saved = 0;  // moves
};

class MoveJoiner {
 public:
  MoveJoiner(Graph& graph, const std::vector<bool>& computed) : edit_(graph), computed_(computed) {}

  bool Run() {
    const size_t count = edit_.graph().ops.size();
    for (size_t o = 0; o < count; ++o) {
      edit_.TakeCurrent(edit_.graph().ops[o]);
      JoinOp(o);
    }
    edit_.Finish();
    return edit_.changed();
  }

 private:
  bool MayPass(const Op& op, size_t result) const {
    return op.signature_pin.empty() && IsMove(edit_.graph(), op, result) && !IsComputed(computed_, op.inputs[0]) &&
           !IsComputed(computed_, op.outputs[result]);
  }

  // All results of the op, or none: a result that is left would keep the op.
  void JoinOp(size_t o) {
    const Op& op = edit_.graph().ops[o];
    std::vector<Shorter> shorter;
    for (size_t r = 0; r < op.outputs.size(); ++r) {
      if (!op.outputs[r].valid() || !MayPass(op, r)) return;
      std::optional<Shorter> found = Find(op, r);
      if (!found) return;
      shorter.push_back(*std::move(found));
    }
    for (size_t r = 0; r < shorter.size(); ++r) {
      const TensorId to = op.outputs[r];
      if (shorter[r].steps.empty() && edit_.IsKept(to)) return;
    }
    std::vector<std::vector<Op>> made;
    for (size_t r = 0; r < shorter.size(); ++r) {
      if (shorter[r].steps.empty()) {
        made.emplace_back();
        continue;
      }
      made.push_back(edit_.MakeSteps(op, shorter[r].steps, shorter[r].source, op.outputs[r]));
      if (!IsSame(shorter[r].route, made.back(), op.outputs[r])) return;
    }
    edit_.Remove(o);
    for (size_t r = 0; r < shorter.size(); ++r) Commit(o, shorter[r], std::move(made[r]), op.outputs[r]);
  }

  void Commit(size_t o, const Shorter& shorter, std::vector<Op> made, TensorId to) {
    if (made.empty()) edit_.Replace(to, shorter.source);
    std::vector<std::string> names;
    for (size_t i = shorter.route.size(); i-- > 0;) names.push_back(shorter.route[i].first->name);
    for (Op& op : made) {
      std::erase_if(op.metadata, [](const auto& entry) { return entry.first == kSimplifiedFrom; });
      op.metadata.emplace_back(kSimplifiedFrom, Join(names, ", "));
      edit_.Insert(o, std::move(op));
    }
  }

  bool IsSame(const Route& before, const std::vector<Op>& made, TensorId to) const {
    Route after;
    for (size_t i = made.size(); i-- > 0;) after.emplace_back(&made[i], 0);
    return SameMoves(edit_.graph(), before, after, edit_.graph().tensor(to).type.shape);
  }

  // Of all tensors that the result is a view of, the one from which most ops are saved; of several the nearest one.
  std::optional<Shorter> Find(const Op& last, size_t result) const {
    std::optional<Shorter> best;
    Route route;
    size_t worth = 0;  // of the route, in moves
    const Op* op = &last;
    while (op != nullptr && route.size() < kLongest && MayPass(*op, result)) {
      if (!route.empty() && edit_.graph().tensor(op->outputs[result]).layout_pin.size() > 0) break;
      route.emplace_back(op, result);
      const TensorId source = op->inputs[0];
      std::optional<std::vector<ElementView::Step>> steps = StepsOf(route, source);
      worth += PicksPlaces(edit_.graph(), *op) ? kWorthOfGather : 1;
      const size_t saved = steps && steps->size() < worth ? worth - steps->size() : 0;
      if (saved > (best ? best->saved : 0)) best = Shorter{route, source, *std::move(steps), saved};
      op = edit_.Producer(source);
      if (op != nullptr) result = edit_.ProducerIndex(source);
    }
    return best;
  }

  std::optional<std::vector<ElementView::Step>> StepsOf(const Route& route, TensorId source) const {
    const Shape& shape = edit_.graph().tensor(source).type.shape;
    ElementView view(shape);
    for (size_t i = route.size(); i-- > 0;) {
      if (!ApplyMove(edit_.graph(), *route[i].first, route[i].second, view)) return std::nullopt;
    }
    return view.Steps(shape);
  }

  GraphEdit edit_;
  const std::vector<bool>& computed_;
};

}  // namespace

bool JoinMoves(Graph& graph, const std::vector<bool>& computed) { return MoveJoiner(graph, computed).Run(); }

}  // namespace sbp::simplify
