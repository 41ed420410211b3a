// A product whose rows were brought into another order before, and are brought back afterwards: attention that is
// written with the sequence first takes [batch, heads, sequence, size] to rows of (sequence, batch), and its result
// back. A product does not care in which order its rows are; in that of the tensor they come from, a split of the batch
// stays one through the Reshape that makes the rows.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "graph/simplified.h"
#include "sbp/shard_math.h"
#include "simplify/graph_edit.h"
#include "simplify/moves.h"
#include "simplify/simplify.h"
#include "simplify/view.h"

namespace sbp::simplify {
namespace {

// Transpose, Reshape to rows, product, Reshape back, Transpose: by their places in the graph.
struct Rows {
  size_t before = 0, merge = 0, product = 0, split = 0, after = 0;
  std::vector<int> perm;  // of `before`
  size_t dims = 0;        // the first so many of its result are the rows
};

class RowOrderer {
 public:
  RowOrderer(Graph& graph, const std::vector<bool>& computed)
      : edit_(graph), graph_(graph), computed_(computed), uses_(BuildUses(graph)) {}

  bool Run() {
    const size_t count = graph_.ops.size();
    for (size_t o = 0; o < count; ++o) {
      if (const std::optional<Rows> rows = Find(o)) Write(*rows);
    }
    edit_.Finish();
    return edit_.changed();
  }

 private:
  const Shape& ShapeOf(TensorId id) const { return graph_.tensor(id).type.shape; }

  bool MayChange(TensorId id) const {
    const auto [begin, end] = uses_.of(id);
    const bool known = id.index() >= computed_.size() || !computed_[id.index()];
    return known && !edit_.IsKept(id) && end - begin == 1 && graph_.op(begin->op).captures.empty();
  }
  bool IsMoveOf(size_t o, std::string_view type) const {
    const Op& op = graph_.ops[o];
    return graph_.type_of(op) == type && op.signature_pin.empty() && IsMove(graph_, op, 0);
  }
  // The op of this type that writes a tensor nobody else reads.
  std::optional<size_t> Writer(TensorId id, std::string_view type) const {
    const OpId producer = graph_.tensor(id).producer;
    if (!producer.valid() || !MayChange(id) || !IsMoveOf(producer.index(), type)) return std::nullopt;
    return producer.index();
  }
  std::optional<size_t> OnlyReader(TensorId id, std::string_view type) const {
    if (!MayChange(id)) return std::nullopt;
    const Use& use = *uses_.of(id).first;
    if (use.operand != 0 || !IsMoveOf(use.op.index(), type)) return std::nullopt;
    return use.op.index();
  }

  // A product of two matrices, each of whose rows follows from a row of the first alone.
  bool IsByRow(const Op& op) const {
    const std::string_view type = graph_.type_of(op);
    if ((type != "MatMul" && type != "Gemm") || !op.signature_pin.empty() || op.inputs[0] == op.inputs[1]) return false;
    if (ShapeOf(op.inputs[0]).size() != 2 || ShapeOf(op.inputs[1]).size() != 2) return false;
    if (type == "MatMul") return true;
    if (op.attributes->Int("transA", 0) != 0) return false;
    if (op.inputs.size() < 3 || !op.inputs[2].valid()) return true;
    const Shape& bias = ShapeOf(op.inputs[2]);
    return bias.size() < 2 || bias[0] == 1;
  }

  std::optional<Rows> Find(size_t o) const {
    const Op& product = graph_.ops[o];
    if (!IsByRow(product)) return std::nullopt;
    const std::optional<size_t> merge = Writer(product.inputs[0], "Reshape");
    if (!merge) return std::nullopt;
    const TensorId moved = graph_.ops[*merge].inputs[0];
    const std::optional<size_t> before = Writer(moved, "Transpose");
    const std::optional<size_t> split = OnlyReader(product.outputs[0], "Reshape");
    if (!before || !split) return std::nullopt;
    const std::optional<size_t> after = OnlyReader(graph_.ops[*split].outputs[0], "Transpose");
    if (!after) return std::nullopt;
    Rows rows{*before, *merge, o, *split, *after, {}, 0};
    const Shape &whole = ShapeOf(moved), &back = ShapeOf(graph_.ops[*split].outputs[0]);
    for (int64_t count = 1; rows.dims < whole.size() && count < ShapeOf(product.inputs[0])[0];)
      count *= whole[rows.dims++];
    const auto prefix = whole.begin() + static_cast<std::ptrdiff_t>(rows.dims);
    if (std::accumulate(whole.begin(), prefix, int64_t{1}, std::multiplies<>()) != ShapeOf(product.inputs[0])[0])
      return std::nullopt;
    if (back.size() < rows.dims || !std::equal(whole.begin(), prefix, back.begin())) return std::nullopt;
    rows.perm.resize(whole.size());
    const std::vector<int64_t>* perm = graph_.ops[*before].attributes->Ints("perm");
    for (size_t d = 0; d < whole.size(); ++d)
      rows.perm[d] = static_cast<int>(perm == nullptr ? whole.size() - 1 - d : static_cast<size_t>((*perm)[d]));
    if (std::is_sorted(rows.perm.begin(), rows.perm.begin() + static_cast<std::ptrdiff_t>(rows.dims)))
      return std::nullopt;
    return rows;
  }

  // Inserts ops by `steps` at the place of op number `at`. What they write.
  TensorId Move(size_t at, TensorId from, const ElementView::Step& step) {
    const Op& like = graph_.ops[at];
    const TensorId to =
        edit_.AddTensor(graph_.tensor(like.outputs[0]).name, {graph_.tensor(from).type.dtype, step.shape});
    return Insert(at, edit_.MakeSteps(like, {step}, from, to), to);
  }
  TensorId Insert(size_t at, std::vector<Op> ops, TensorId to) {
    for (Op& op : ops) {
      op.metadata.emplace_back(kSimplifiedFrom, graph_.ops[at].name);
      edit_.Insert(at, std::move(op));
    }
    return to;
  }

  void Write(const Rows& rows) {
    using Kind = ElementView::Step::Kind;
    const Op product = graph_.ops[rows.product];
    const size_t dims = rows.dims;
    std::vector<int> order(dims);  // in the new result: which of the dimensions of rows stands there
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int a, int b) { return rows.perm[a] < rows.perm[b]; });
    const auto in_order = [&](const auto& of_dims) {
      auto ordered = of_dims;
      for (size_t d = 0; d < dims; ++d) ordered[d] = of_dims[static_cast<size_t>(order[d])];
      return ordered;
    };
    for (const size_t o : {rows.before, rows.merge, rows.product, rows.split}) edit_.Remove(o);
    const Shape whole = ShapeOf(graph_.ops[rows.merge].inputs[0]), matrix = ShapeOf(product.inputs[0]);
    TensorId id = Move(rows.before, graph_.ops[rows.before].inputs[0],
                       {Kind::kTranspose, in_order(whole), {}, in_order(rows.perm)});
    id = Move(rows.merge, id, {Kind::kReshape, matrix, {}, {}});
    Op by_row = product;
    by_row.inputs[0] = id;
    const Tensor& result = graph_.tensor(product.outputs[0]);
    by_row.outputs[0] = edit_.AddTensor(result.name, result.type);
    id = by_row.outputs[0];
    edit_.Insert(rows.product, std::move(by_row));
    const TensorId to = graph_.ops[rows.split].outputs[0];
    const Shape back = ShapeOf(to);
    id = Move(rows.split, id, {Kind::kReshape, in_order(back), {}, {}});
    std::vector<int> perm(back.size());
    std::iota(perm.begin(), perm.end(), 0);
    for (size_t d = 0; d < dims; ++d) perm[static_cast<size_t>(order[d])] = static_cast<int>(d);
    Insert(rows.split, edit_.MakeSteps(graph_.ops[rows.split], {{Kind::kTranspose, back, {}, perm}}, id, to), to);
  }

  GraphEdit edit_;
  Graph& graph_;
  const std::vector<bool>& computed_;
  UseTable uses_;
};

}  // namespace

bool OrderRows(Graph& graph, const std::vector<bool>& computed) { return RowOrderer(graph, computed).Run(); }

}  // namespace sbp::simplify
