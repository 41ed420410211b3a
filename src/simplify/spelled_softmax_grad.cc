// The derivative of a softmax as JAX derives it from exp(x) / s, s = sum exp(x): (d / s - sum(d exp(x) / s^2)) exp(x),
// which reads exp(x), s and the weights p. As p (d - sum(d p)), equal up to rounding, which reads the weights alone, so
// that attention is found with its backward pass (fusion/attention.h).
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/producers.h"
#include "graph/simplified.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"
#include "simplify/simplify.h"
#include "simplify/spelling_reader.h"

namespace sbp::simplify {
namespace {

constexpr int kMostRowMoves = 8;  // between a sum of rows and what reads it

class SoftmaxGradReader : SpellingReader {
 public:
  SoftmaxGradReader(Graph& graph, const std::vector<bool>& computed) : SpellingReader(graph, computed) {}

  bool Run() {
    const size_t count = graph_.ops.size();
    for (size_t o = 0; o < count; ++o) {
      const Op& op = graph_.ops[o];
      if (graph_.type_of(op) != "Exp" || op.outputs.size() != 1 || edit_.IsKept(op.outputs[0])) continue;
      if (const std::optional<Softmax> found = SoftmaxOf(op)) TryReaders(*found);
    }
    edit_.Finish();
    return edit_.changed();
  }

 private:
  struct Softmax {
    TensorId exp, sum, weights;  // sum: as ReduceSum writes it
  };

  // The op of this type that writes the tensor.
  const Op* Made(TensorId id, std::string_view type, size_t operands = 2) const {
    if (!id.valid() || (id.index() < computed_.size() && computed_[id.index()])) return nullptr;
    const Op* op = edit_.Producer(id);
    if (op == nullptr || graph_.type_of(*op) != type || op->inputs.size() != operands || op->outputs.size() != 1 ||
        !op->signature_pin.empty()) {
      return nullptr;
    }
    for (const TensorId operand : op->inputs) {
      if (!operand.valid()) return nullptr;
    }
    return op;
  }
  const Op* ReaderOf(TensorId id, std::string_view type, size_t side) const {
    const auto [begin, end] = uses_.of(id);
    for (const Use* use = begin; use != end; ++use) {
      const Op& op = graph_.op(use->op);
      if (use->operand == side && graph_.type_of(op) == type) return &op;
    }
    return nullptr;
  }

  // Through what keeps every element and their order.
  TensorId PastMoves(TensorId id) const {
    for (int step = 0; step < kMostRowMoves; ++step) {
      const Op* move = nullptr;
      for (const std::string_view type : {"Reshape", "Unsqueeze", "Squeeze", "Expand", "ReduceSum"}) {
        move = move == nullptr ? Made(id, type) : move;
      }
      if (move == nullptr || TypeOf(move->inputs[0]).num_elements() != TypeOf(id).num_elements()) break;
      id = move->inputs[0];
    }
    return id;
  }
  // A number for each row of the last dimension of `whole`, as the product with it is broadcast.
  bool IsColumn(TensorId id, TensorId whole) const {
    Shape column = TypeOf(whole).shape;
    column.back() = 1;
    const Shape& shape = TypeOf(id).shape;
    if (shape.size() > column.size() || column.empty()) return false;
    Shape padded(column.size() - shape.size(), 1);
    padded.insert(padded.end(), shape.begin(), shape.end());
    return padded == column;
  }
  bool SumsLast(const Op& sum) {
    const int64_t rank = TypeOf(sum.inputs[0]).rank();
    if (TypeOf(sum.inputs[1]).num_elements() != 1) return false;
    const std::optional<double> axis = ConstantOf(sum.inputs[1]);
    return axis == -1.0 || axis == static_cast<double>(rank - 1);
  }

  // exp(x), of which a quotient by its sum along the last dimension is made.
  std::optional<Softmax> SoftmaxOf(const Op& exp) {
    const TensorId power = exp.outputs[0];
    if (TypeOf(power).rank() < 2) return std::nullopt;
    const Op* sum = ReaderOf(power, "ReduceSum", 0);
    const Op* quotient = ReaderOf(power, "Div", 0);
    if (sum == nullptr || quotient == nullptr || Made(sum->outputs[0], "ReduceSum") != sum || !SumsLast(*sum))
      return std::nullopt;
    const TensorId divisor = quotient->inputs[1], weights = quotient->outputs[0];
    if (!IsColumn(divisor, power) || PastMoves(divisor) != sum->outputs[0] || TypeOf(weights) != TypeOf(power))
      return std::nullopt;
    return Softmax{power, sum->outputs[0], weights};
  }
  bool IsSum(TensorId id, const Softmax& of) const { return PastMoves(id) == of.sum; }

  // (d / s + t) exp(x), with t of rows, and its operands in either order.
  void TryReaders(const Softmax& of) {
    const auto [begin, end] = uses_.of(of.exp);
    for (const Use* use = begin; use != end; ++use) {
      const Op& last = graph_.op(use->op);
      if (graph_.type_of(last) != "Mul" || last.inputs[0] == last.inputs[1] || !last.signature_pin.empty()) continue;
      const Op* added = Made(last.inputs[1 - use->operand], "Add");
      if (added == nullptr || TypeOf(added->outputs[0]) != TypeOf(of.exp)) continue;
      for (const size_t side : {size_t{0}, size_t{1}}) {
        const Op* quotient = Made(added->inputs[side], "Div");
        if (quotient == nullptr || !IsColumn(quotient->inputs[1], of.exp) || !IsSum(quotient->inputs[1], of)) continue;
        const TensorId d = quotient->inputs[0], rows = added->inputs[1 - side];
        if (TypeOf(d) != TypeOf(of.exp) || !IsColumn(rows, of.exp) || !IsTotal(rows, d, of)) continue;
        Write(use->op.index(), d, of, StrCat(quotient->name, ", ", added->name));
        break;
      }
    }
  }

  // -sum(d exp(x) / s^2)
  bool IsTotal(TensorId rows, TensorId d, const Softmax& of) {
    const Op* minus = Made(PastMoves(rows), "Neg", 1);
    const Op* sum = minus != nullptr ? Made(PastMoves(minus->inputs[0]), "ReduceSum") : nullptr;
    const Op* product = sum != nullptr && SumsLast(*sum) ? Made(sum->inputs[0], "Mul") : nullptr;
    if (product == nullptr) return false;
    const size_t side = product->inputs[0] == of.exp ? 1 : 0;
    if (product->inputs[1 - side] != of.exp) return false;
    const Op* scaled = Made(product->inputs[side], "Mul");
    if (scaled == nullptr) return false;
    const size_t own = scaled->inputs[0] == d ? 1 : 0;
    return scaled->inputs[1 - own] == d && IsColumn(scaled->inputs[own], of.exp) &&
           IsInverseSquare(scaled->inputs[own], of);
  }
  // 1 / (s s)
  bool IsInverseSquare(TensorId id, const Softmax& of) {
    const Op* inverse = Made(PastMoves(id), "Div");
    const Op* square = inverse != nullptr && ConstantOf(inverse->inputs[0]) == 1.0
                           ? Made(PastMoves(inverse->inputs[1]), "Mul")
                           : nullptr;
    if (square == nullptr || TypeOf(square->outputs[0]).num_elements() != TypeOf(of.sum).num_elements()) return false;
    return IsSum(square->inputs[0], of) && IsSum(square->inputs[1], of);
  }

  void Write(size_t o, TensorId d, const Softmax& of, const std::string& gone) {
    const Op last = graph_.ops[o];
    const TensorType whole = TypeOf(of.exp);
    TensorType column = whole;
    column.shape.back() = 1;
    edit_.Remove(o);
    const auto add = [&](std::string_view type, std::string_view part, std::vector<TensorId> operands,
                         const TensorType& made, Attributes attributes = {}) {
      Op op = edit_.MakeOp(last, type, StrCat(last.name, "/", part), std::move(operands));
      op.outputs = {edit_.AddTensor(op.name, made)};
      op.attributes = std::make_shared<const Attributes>(std::move(attributes));
      const TensorId output = op.outputs[0];
      edit_.Insert(o, std::move(op));
      return output;
    };
    Attributes keeps;
    keeps.Set("keepdims", int64_t{1});
    const TensorId product = add("Mul", "product", {d, of.weights}, whole);
    const TensorId total = add("ReduceSum", "total", {product, edit_.AddInts({-1})}, column, std::move(keeps));
    const TensorId rest = add("Sub", "rest", {d, total}, whole);
    Op scores = edit_.MakeOp(last, "Mul", last.name, {of.weights, rest});
    scores.outputs = last.outputs;
    scores.metadata.emplace_back(kSimplifiedFrom, StrCat(gone, ", ", last.name));
    edit_.Insert(o, std::move(scores));
  }
};

}  // namespace

bool SpelledSoftmaxGrad(Graph& graph, const std::vector<bool>& computed) {
  return IsProducedBy(graph, kStableHloProducer) && SoftmaxGradReader(graph, computed).Run();
}

}  // namespace sbp::simplify
