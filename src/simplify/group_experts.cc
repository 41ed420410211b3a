// A batched product whose matrices are gathered, one for each row, as a grouped product: the rows of one expert times
// its matrix, which is read where it lies.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/simplified.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"
#include "simplify/expert_product.h"
#include "simplify/graph_edit.h"
#include "simplify/moves.h"
#include "simplify/simplify.h"
#include "simplify/view.h"

namespace sbp::simplify {
namespace {

constexpr size_t kLongestWay = 12;

// A tensor seen as matrices [count, rows, columns] of `experts`, picked by `index`.
struct Gathered {
  TensorId experts;  // [experts, rows, columns]
  TensorId index;    // `count` elements
  bool transposed = false;
  std::vector<Op> casts;  // of what is gathered, in order
  std::string from;       // the ops that it stands for
};

class ExpertGrouper {
 public:
  ExpertGrouper(Graph& graph, const std::vector<bool>& computed) : edit_(graph), graph_(graph), computed_(computed) {}

  bool Run() {
    const size_t count = graph_.ops.size();
    for (size_t o = 0; o < count; ++o) {
      const Op& op = graph_.ops[o];
      if (!op.signature_pin.empty() || op.inputs.size() != 2) continue;
      if (!Group(o, 0)) Group(o, 1);
    }
    edit_.Finish();
    return edit_.changed();
  }

 private:
  const Shape& ShapeOf(TensorId id) const { return graph_.tensor(id).type.shape; }
  bool Known(TensorId id) const { return id.index() >= computed_.size() || !computed_[id.index()]; }

  // Operand `side` is gathered matrices, and the other one has one row (or column) for each.
  bool Group(size_t o, size_t side) {
    const std::optional<ExpertProduct> product = FindExpertProduct(graph_, graph_.ops[o], side);
    if (!product || !IsFloat(graph_.tensor(product->matrices).type.dtype)) return false;
    const std::optional<Gathered> gathered = FindGathered(product->matrices);
    if (!gathered || !Known(product->rows) || !Known(graph_.ops[o].outputs[0])) return false;
    const Op op = graph_.ops[o];  // whose place others take

    const int64_t count = graph_.tensor(gathered->index).type.num_elements();
    edit_.Remove(o);
    const TensorId x = RowsOf(o, op, *product, count);
    const TensorId index = Shaped(o, op, "experts", gathered->index, {count});
    const TensorId experts = CastOf(o, op, *gathered);
    Op grouped = edit_.MakeOp(op, "sbp::GroupedMatMul", StrCat(op.name, "/grouped"), {x, experts, index});
    if (product->sums_columns != gathered->transposed) {
      Attributes attributes;
      attributes.Set("transB", int64_t{1});
      grouped.attributes = std::make_shared<const Attributes>(std::move(attributes));
    }
    grouped.metadata.emplace_back(kSimplifiedFrom, StrCat(gathered->from, ", ", op.name));
    const DType dtype = graph_.tensor(op.outputs[0]).type.dtype;
    grouped.outputs = {
        edit_.AddTensor(StrCat(graph_.tensor(op.outputs[0]).name, "/grouped"), {dtype, {count, product->columns}})};
    const TensorId y = grouped.outputs[0];
    edit_.Insert(o, std::move(grouped));
    std::vector<ElementView::Step> steps = {{ElementView::Step::Kind::kReshape, product->result, {}, {}}};
    if (!product->result_order.empty()) steps.push_back(Reordered(product->result, product->result_order));
    for (Op& step : edit_.MakeSteps(op, steps, y, op.outputs[0])) edit_.Insert(o, std::move(step));
    return true;
  }

  static ElementView::Step Reordered(const Shape& shape, const std::vector<int>& order) {
    ElementView::Step step{ElementView::Step::Kind::kTranspose, {}, {}, order};
    for (const int d : order) step.shape.push_back(shape[static_cast<size_t>(d)]);
    return step;
  }

  // The rows, once for each matrix: [count, inner].
  TensorId RowsOf(size_t o, const Op& op, const ExpertProduct& product, int64_t count) {
    TensorId x = product.rows;
    if (!product.row_order.empty()) x = Step(o, op, "ordered", x, Reordered(ShapeOf(x), product.row_order));
    if (product.stretched != product.ones) {
      x = Shaped(o, op, "ones", x, product.ones);
      x = Step(o, op, "expand", x, {ElementView::Step::Kind::kExpand, product.stretched, {}, {}});
    }
    return Shaped(o, op, "rows", x, {count, product.inner});
  }
  // The experts, cast as what is gathered of them is.
  TensorId CastOf(size_t o, const Op& op, const Gathered& gathered) {
    TensorId at = gathered.experts;
    for (const Op& like : gathered.casts) {
      const DType to = graph_.tensor(like.outputs[0]).type.dtype;
      TensorId& cast = casts_[{at, to, like.attributes->Int("saturate", 1)}];
      if (!cast.valid()) {
        Op made = edit_.MakeOp(op, "Cast", StrCat(op.name, "/cast"), {at});
        made.attributes = like.attributes;
        made.metadata.emplace_back(kSimplifiedFrom, like.name);
        cast = edit_.AddTensor(StrCat(graph_.tensor(at).name, "/cast"), {to, ShapeOf(at)});
        made.outputs = {cast};
        edit_.Insert(o, std::move(made));
      }
      at = cast;
    }
    return at;
  }
  TensorId Shaped(size_t o, const Op& op, std::string_view what, TensorId tensor, const Shape& shape) {
    if (ShapeOf(tensor) == shape) return tensor;
    return Step(o, op, what, tensor, {ElementView::Step::Kind::kReshape, shape, {}, {}});
  }
  TensorId Step(size_t o, const Op& op, std::string_view what, TensorId from, const ElementView::Step& step) {
    Op like = op;
    like.name = StrCat(op.name, "/", what);
    const TensorId to = edit_.AddTensor(StrCat(graph_.tensor(op.outputs[0]).name, "/", what),
                                        {graph_.tensor(from).type.dtype, step.shape});
    for (Op& made : edit_.MakeSteps(like, {step}, from, to)) edit_.Insert(o, std::move(made));
    return to;
  }

  // Follows moves back to a Gather along the first dimension, or a GatherND.
  std::optional<Gathered> FindGathered(TensorId matrices) const {
    Route route;
    std::vector<std::string> names;
    std::vector<Op> casts;
    TensorId at = matrices;
    while (names.size() <= kLongestWay && Known(at)) {
      const Op* op = edit_.Producer(at);
      if (op == nullptr) return std::nullopt;
      names.push_back(op->name);
      std::optional<Gathered> gathered = FromGather(*op);
      if (gathered && SeenAsMatrices(route, at, ShapeOf(matrices), *gathered)) {
        std::ranges::reverse(names);
        gathered->from = Join(names, ", ");
        gathered->casts.assign(casts.rbegin(), casts.rend());
        return CastsPay(*gathered) ? gathered : std::nullopt;
      }
      if (graph_.type_of(*op) == "Cast" && op->signature_pin.empty()) {
        casts.push_back(*op);
        at = op->inputs[0];
        continue;
      }
      const size_t result = edit_.ProducerIndex(at);
      if (!op->signature_pin.empty() || !IsMove(graph_, *op, result) || TakesPart(graph_, *op)) return std::nullopt;
      route.emplace_back(op, result);
      at = op->inputs[0];
    }
    return std::nullopt;
  }

  // All experts are cast then, instead of one matrix a row.
  bool CastsPay(const Gathered& gathered) const {
    const int64_t count = graph_.tensor(gathered.index).type.num_elements();
    return gathered.casts.empty() || count >= ShapeOf(gathered.experts)[0];
  }

  std::optional<Gathered> FromGather(const Op& op) const {
    const std::string& type = graph_.type_of(op);
    if (!op.signature_pin.empty() || op.inputs.size() != 2) return std::nullopt;
    const TensorType &experts = graph_.tensor(op.inputs[0]).type, &index = graph_.tensor(op.inputs[1]).type;
    if (experts.rank() != 3 || experts.num_elements() == 0 || index.num_elements() == 0) return std::nullopt;
    if (!Known(op.inputs[1])) return std::nullopt;
    const bool by_rows = type == "Gather" && op.attributes->Int("axis", 0) == 0;
    const bool by_tuples =
        type == "GatherND" && op.attributes->Int("batch_dims", 0) == 0 && index.rank() > 0 && index.shape.back() == 1;
    if (!by_rows && !by_tuples) return std::nullopt;
    return Gathered{op.inputs[0], op.inputs[1], false, {}, ""};
  }

  // Do the moves leave the gathered matrices, in their order, as they are or all transposed?
  bool SeenAsMatrices(const Route& route, TensorId gather, const Shape& seen, Gathered& gathered) const {
    ElementView view(ShapeOf(gather));
    for (size_t i = route.size(); i-- > 0;) {
      if (!ApplyMove(graph_, *route[i].first, route[i].second, view)) return false;
    }
    const int64_t count = graph_.tensor(gathered.index).type.num_elements();
    const Shape& experts = ShapeOf(gathered.experts);
    const int64_t rows = seen[seen.size() - 2], columns = seen.back();
    ElementView plain(ShapeOf(gather)), transposed(ShapeOf(gather));
    if (rows == experts[1] && columns == experts[2] && plain.Reshape(seen) && view.Reshape(seen) && plain == view)
      return true;
    if (rows != experts[2] || columns != experts[1] || !transposed.Reshape({count, columns, rows})) return false;
    transposed.Transpose({0, 2, 1});
    gathered.transposed = true;
    return transposed.Reshape(seen) && view.Reshape(seen) && transposed == view;
  }

  GraphEdit edit_;
  Graph& graph_;
  const std::vector<bool>& computed_;
  std::map<std::tuple<TensorId, DType, int64_t>, TensorId> casts_;  // made, by what saturates, too
};

}  // namespace

bool GroupExperts(Graph& graph, const std::vector<bool>& computed) { return ExpertGrouper(graph, computed).Run(); }

}  // namespace sbp::simplify
