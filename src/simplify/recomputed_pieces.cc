// Element-wise pieces of the forward pass that the backward pass of a joint graph reads, as JAX writes them: XLA fuses
// them again into the kernel of each reader, and keeps what they are made of. So do copies of them here, where that
// keeps less; for the same numbers.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "graph/again.h"
#include "graph/graph.h"
#include "graph/phases.h"
#include "graph/producers.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"
#include "simplify/elementwise.h"
#include "simplify/graph_edit.h"
#include "simplify/simplify.h"

namespace sbp::simplify {
namespace {

// Products between a piece and its reader, on the longest path: one forth and one back.
constexpr int kFar = 2;
// What takes so much less than what is made of it (a figure a row, a bias) is kept.
constexpr int64_t kSmall = 8;
constexpr int kMostMoves = 4;
constexpr size_t kMostCopies = 2;  // for each op of the graph: what wants more is no model, and stays as it is

bool IsMove(std::string_view type) {
  return type == "Reshape" || type == "Unsqueeze" || type == "Squeeze" || type == "Transpose" || type == "Expand";
}

class PieceReader {
 public:
  PieceReader(Graph& graph, const std::vector<bool>& computed)
      : edit_(graph), graph_(graph), computed_(computed), uses_(BuildUses(graph)) {}

  bool Run() {
    FindDepths();
    FindRoots();
    for (const auto& [root, pieces] : PiecesByRoot()) {
      if (!Saves(root, pieces)) continue;
      for (const TensorId piece : pieces) Want(piece);
      if (IsFull()) return false;
    }
    WriteCopies();
    edit_.Finish();
    return edit_.changed();
  }

 private:
  int64_t BytesOf(TensorId id) const {
    const TensorType& type = graph_.tensor(id).type;
    return sbp::BytesOf(type.dtype, type.num_elements());
  }
  bool IsPieceOp(const Op& op) const {
    const std::string_view type = graph_.type_of(op);
    return (IsElementwise(type) || IsMove(type)) && op.outputs.size() == 1 && op.outputs[0].valid() &&
           op.captures.empty() && op.signature_pin.empty();
  }
  // The depth of an op is the most products before it.
  bool IsProduct(const Op& op) const { return !IsPieceOp(op) && !graph_.type_of(op).starts_with("Reduce"); }
  bool IsFar(const Op& reader, TensorId id) const {
    return depth_of_op_[NumberOf(reader)] >= depth_[id.index()] + kFar;
  }
  size_t NumberOf(const Op& op) const { return static_cast<size_t>(&op - graph_.ops.data()); }

  void FindDepths() {
    depth_.assign(graph_.tensors.size(), 0);
    for (const Op& op : graph_.ops) {
      int depth = 0;
      for (const TensorId id : graph_.OperandsOf(op)) depth = id.valid() ? std::max(depth, depth_[id.index()]) : depth;
      depth_of_op_.push_back(depth);
      for (const TensorId id : op.outputs) {
        if (id.valid()) depth_[id.index()] = depth + (IsProduct(op) ? 1 : 0);
      }
    }
  }

  // The root of a tensor: the one large tensor that it is made of by element-wise ops, or itself.
  void FindRoots() {
    for (size_t t = 0; t < graph_.tensors.size(); ++t) root_.emplace_back(t);
    for (const Op& op : graph_.ops) {
      if (!IsPieceOp(op)) continue;
      const TensorId made = op.outputs[0];
      if (edit_.IsKept(made) || (made.index() < computed_.size() && computed_[made.index()])) continue;
      if (!IsFloat(graph_.tensor(made).type.dtype)) continue;
      const std::set<TensorId> roots = RootsOf(op);
      if (roots.size() == 1) root_[made.index()] = *roots.begin();
    }
  }
  std::set<TensorId> RootsOf(const Op& op) const {
    std::set<TensorId> roots;
    for (const TensorId id : op.inputs) {
      if (id.valid() && !IsSmall(id, op) && !IsGiven(id)) roots.insert(root_[id.index()]);
    }
    return roots;
  }
  bool IsSmall(TensorId id, const Op& op) const { return BytesOf(id) * kSmall <= BytesOf(op.outputs[0]); }
  // There in any case.
  bool IsGiven(TensorId id) const { return !graph_.tensor(id).producer.valid(); }

  // Is it there in the backward pass as it is, for a product, which absorbs moves, or for the caller?
  bool IsReadWhole(TensorId id, int moves = 0) const {
    if (edit_.IsKept(id)) return true;
    const auto [begin, end] = uses_.of(id);
    return std::any_of(begin, end, [&](const Use& use) {
      const Op& reader = graph_.op(use.op);
      if (IsProduct(reader)) return IsFar(reader, id);
      const bool moved = IsMove(graph_.type_of(reader)) && use.operand == 0 && reader.outputs[0].valid();
      return moved && moves < kMostMoves && IsReadWhole(reader.outputs[0], moves + 1);
    });
  }
  bool IsReadFar(TensorId id) const {
    const auto [begin, end] = uses_.of(id);
    return std::any_of(begin, end, [&](const Use& use) { return IsFar(graph_.op(use.op), id); });
  }
  bool IsPiece(TensorId id) const { return root_[id.index()] != id && !IsReadWhole(id); }

  std::map<TensorId, std::vector<TensorId>> PiecesByRoot() const {
    std::map<TensorId, std::vector<TensorId>> pieces;
    for (const Op& op : graph_.ops) {
      for (const TensorId id : op.outputs) {
        if (id.valid() && IsReadFar(id) && IsPiece(id)) pieces[root_[id.index()]].push_back(id);
      }
    }
    return pieces;
  }
  // Is less kept for the backward pass where it has the root in the place of the pieces?
  bool Saves(TensorId root, const std::vector<TensorId>& pieces) const {
    int64_t saved = 0;
    for (const TensorId piece : pieces) saved += BytesOf(piece);
    return saved > (IsGiven(root) || edit_.IsKept(root) || IsReadFar(root) ? 0 : BytesOf(root));
  }

  // What far readers of a tensor want, by their depth: a copy each, in front of the first of them.
  struct Copy {
    size_t place;
    TensorId made;
  };
  using Key = std::pair<size_t, int>;  // the op that is copied, a depth

  void Want(TensorId id) {
    const auto [begin, end] = uses_.of(id);
    for (const Use* use = begin; use != end; ++use) {
      const Op& reader = graph_.op(use->op);
      if (!IsFar(reader, id)) continue;
      WantAt(id, depth_of_op_[use->op.index()], use->op.index());
      readers_.insert(use->op.index());
    }
  }
  // With the pieces that it is made of; chains of them may be as long as the graph.
  void WantAt(TensorId id, int depth, size_t place) {
    std::vector<TensorId> open = {id};
    while (!open.empty() && !IsFull()) {
      const OpId producer = graph_.tensor(open.back()).producer;
      open.pop_back();
      const auto [at, is_new] = copies_.try_emplace(Key(producer.index(), depth), Copy{place, {}});
      if (!is_new && at->second.place <= place) continue;
      at->second.place = place;
      const Op& op = graph_.op(producer);
      for (const TensorId operand : op.inputs) {
        if (operand.valid() && !IsSmall(operand, op) && IsPiece(operand)) open.push_back(operand);
      }
    }
  }
  bool IsFull() const { return copies_.size() > kMostCopies * graph_.ops.size(); }

  void WriteCopies() {
    for (auto& [key, copy] : copies_) {  // in the graph's order: operands first
      const Op& op = graph_.ops[key.first];
      Op again = op;
      again.name = StrCat(kAgain, op.name);
      const TensorId made = op.outputs[0];
      copy.made = edit_.AddTensor(StrCat(kAgain, graph_.tensor(made).name), graph_.tensor(made).type);
      again.outputs = {copy.made};
      TakeCopies(key.second, copy.place, again);
      edit_.Insert(copy.place, std::move(again));
    }
    for (const size_t o : readers_) {
      Op reader = graph_.ops[o];
      TakeCopies(depth_of_op_[o], o, reader);
      edit_.Remove(o);
      edit_.Insert(o, std::move(reader));
    }
  }
  // Copies in the place of operands, for an op of this depth in front of op number `place`.
  void TakeCopies(int depth, size_t place, Op& op) const {
    for (TensorId& id : op.inputs) {
      const OpId producer = id.valid() ? graph_.tensor(id).producer : OpId();
      if (!producer.valid() || depth < depth_[id.index()] + kFar) continue;
      const auto at = copies_.find(Key(producer.index(), depth));
      if (at != copies_.end() && at->second.place <= place) id = at->second.made;
    }
  }

  GraphEdit edit_;
  Graph& graph_;
  const std::vector<bool>& computed_;
  UseTable uses_;
  std::vector<int> depth_, depth_of_op_;
  std::vector<TensorId> root_;
  std::map<Key, Copy> copies_;
  std::set<size_t> readers_;
};

}  // namespace

bool RecomputedPieces(Graph& graph, const std::vector<bool>& computed) {
  const auto is_ours = [](const std::string& scope) { return PhaseOfScope(scope) != Phase::kForward; };
  if (!IsProducedBy(graph, kStableHloProducer) || std::ranges::any_of(graph.scopes, is_ours)) return false;
  return PieceReader(graph, computed).Run();
}

}  // namespace sbp::simplify
