// A batched product whose matrices are gathered, one for each row, as a grouped product: the rows of one expert times
// its matrix, which is read where it lies.
#include <algorithm>

#include "base/text.h"
#include "simplify/graph_edit.h"
#include "simplify/moves.h"
#include "simplify/simplify.h"

namespace sbp::simplify {
namespace {

constexpr size_t kLongestWay = 12;

// A tensor seen as matrices [count, rows, columns] of `experts`, picked by `index`.
struct Gathered {
  TensorId experts;  // [experts, rows, columns]
  TensorId index;    // `count` elements
  bool transposed = false;
  std::string from;  // the ops that it stands for
};

class ExpertGrouper {
 public:
  ExpertGrouper(Graph& graph, const std::vector<bool>& computed) : edit_(graph), graph_(graph), computed_(computed) {}

  bool Run() {
    const size_t count = graph_.ops.size();
    for (size_t o = 0; o < count; ++o) {
      const Op& op = graph_.ops[o];
      if (graph_.type_of(op) != "MatMul" || !op.signature_pin.empty() || op.inputs.size() != 2) continue;
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
    const Op op = graph_.ops[o];
    const TensorId matrices = op.inputs[side], rows = op.inputs[1 - side];
    const Shape of_rows = ShapeOf(rows), result = ShapeOf(op.outputs[0]);
    const size_t rank = ShapeOf(matrices).size();
    if (rank < 3 || of_rows.size() < 2 || of_rows.size() > rank || result.size() != rank) return false;
    // One row at the left of the matrices (side 1), one column at the right of them (side 0).
    const size_t single = side == 1 ? of_rows.size() - 2 : of_rows.size() - 1;
    if (of_rows[single] != 1) return false;
    if (!std::equal(result.begin(), result.end() - 2, ShapeOf(matrices).begin())) return false;
    const std::optional<Gathered> gathered = FindGathered(matrices);
    if (!gathered || !Known(rows) || !Known(op.outputs[0])) return false;

    const int64_t count = graph_.tensor(gathered->index).type.num_elements();
    const int64_t inner = of_rows[side == 1 ? of_rows.size() - 1 : of_rows.size() - 2];
    const int64_t columns = result[side == 1 ? rank - 1 : rank - 2];
    // Side 0: y = W x, that is x's row times W's transpose.
    const bool transpose = (side == 0) != gathered->transposed;
    edit_.Remove(o);
    TensorId x = Broadcast(o, op, rows, result, of_rows);
    x = Shaped(o, op, "rows", x, {count, inner});
    const TensorId index = Shaped(o, op, "experts", gathered->index, {count});
    Op grouped = edit_.MakeOp(op, "sbp::GroupedMatMul", StrCat(op.name, "/grouped"), {x, gathered->experts, index});
    if (transpose) {
      Attributes attributes;
      attributes.Set("transB", int64_t{1});
      grouped.attributes = std::make_shared<const Attributes>(std::move(attributes));
    }
    grouped.metadata.emplace_back(kSimplifiedFrom, StrCat(gathered->from, ", ", op.name));
    const DType dtype = graph_.tensor(op.outputs[0]).type.dtype;
    grouped.outputs = {
        edit_.AddTensor(StrCat(graph_.tensor(op.outputs[0]).name, "/grouped"), {dtype, {count, columns}})};
    const TensorId y = grouped.outputs[0];
    edit_.Insert(o, std::move(grouped));
    for (Op& step : edit_.MakeSteps(op, {{View::Step::Kind::kReshape, result, {}, {}}}, y, op.outputs[0])) {
      edit_.Insert(o, std::move(step));
    }
    return true;
  }

  // The rows, once for each matrix: their leading dimensions may stretch.
  TensorId Broadcast(size_t o, const Op& op, TensorId rows, const Shape& result, const Shape& of_rows) {
    Shape wanted(result.begin(), result.end() - 2);
    wanted.insert(wanted.end(), of_rows.end() - 2, of_rows.end());
    if (wanted == of_rows) return rows;
    return Step(o, op, "expand", rows, {View::Step::Kind::kExpand, wanted, {}, {}});
  }
  TensorId Shaped(size_t o, const Op& op, std::string_view what, TensorId tensor, const Shape& shape) {
    if (ShapeOf(tensor) == shape) return tensor;
    return Step(o, op, what, tensor, {View::Step::Kind::kReshape, shape, {}, {}});
  }
  TensorId Step(size_t o, const Op& op, std::string_view what, TensorId from, const View::Step& step) {
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
    TensorId at = matrices;
    while (route.size() <= kLongestWay && Known(at)) {
      const Op* op = edit_.Producer(at);
      if (op == nullptr) return std::nullopt;
      names.push_back(op->name);
      std::optional<Gathered> gathered = FromGather(*op);
      if (gathered && SeenAsMatrices(route, at, ShapeOf(matrices), *gathered)) {
        std::ranges::reverse(names);
        gathered->from = Join(names, ", ");
        return gathered;
      }
      const size_t result = edit_.ProducerIndex(at);
      if (!op->signature_pin.empty() || !IsMove(graph_, *op, result) || TakesPart(graph_, *op)) return std::nullopt;
      route.emplace_back(op, result);
      at = op->inputs[0];
    }
    return std::nullopt;
  }

  std::optional<Gathered> FromGather(const Op& op) const {
    const std::string& type = graph_.type_of(op);
    if (!op.signature_pin.empty() || op.inputs.size() != 2) return std::nullopt;
    const TensorType &experts = graph_.tensor(op.inputs[0]).type, &index = graph_.tensor(op.inputs[1]).type;
    if (experts.rank() != 3 || experts.num_elements() == 0 || index.num_elements() == 0) return std::nullopt;
    if (!IsFloat(experts.dtype) || !Known(op.inputs[1])) return std::nullopt;
    const bool by_rows = type == "Gather" && op.attributes->Int("axis", 0) == 0;
    const bool by_tuples =
        type == "GatherND" && op.attributes->Int("batch_dims", 0) == 0 && index.rank() > 0 && index.shape.back() == 1;
    if (!by_rows && !by_tuples) return std::nullopt;
    return Gathered{op.inputs[0], op.inputs[1], false, ""};
  }

  // Do the moves leave the gathered matrices, in their order, as they are or all transposed?
  bool SeenAsMatrices(const Route& route, TensorId gather, const Shape& seen, Gathered& gathered) const {
    View view(ShapeOf(gather));
    for (size_t i = route.size(); i-- > 0;) {
      if (!ApplyMove(graph_, *route[i].first, route[i].second, view)) return false;
    }
    const int64_t count = graph_.tensor(gathered.index).type.num_elements();
    const Shape& experts = ShapeOf(gathered.experts);
    const int64_t rows = seen[seen.size() - 2], columns = seen.back();
    View plain(ShapeOf(gather)), transposed(ShapeOf(gather));
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
};

}  // namespace

bool GroupExperts(Graph& graph, const std::vector<bool>& computed) { return ExpertGrouper(graph, computed).Run(); }

}  // namespace sbp::simplify
