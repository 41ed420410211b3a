// Layer and RMS normalisation that are spelled out in single ops, as JAX and older exporters write them: as the
// operator, which is differentiated from its operand and a row's statistics alone. The variance is the mean of squares
// of what is centred, or, as flax has it, that of squares less the square of the mean: the same number, where all is
// exact. A norm without a scale has one of ones.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/simplified.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"
#include "simplify/simplify.h"
#include "simplify/spelling_reader.h"

namespace sbp::simplify {
namespace {

constexpr int kMostNormOps = 12;  // between two ends of one

struct Norm {
  TensorId x;            // what is normalised
  TensorId centred;      // x, or x without its mean
  TensorId scale, bias;  // invalid: none
  size_t first = 0;      // dimension that the statistics run over, with all behind it
  double epsilon = 0;
  bool has_mean = false;
  bool is_of_squares = false;    // the variance is E[x^2] - E[x]^2; what is centred comes with the products
  std::optional<DType> rounded;  // before the scale
  const Op* last = nullptr;
  std::vector<std::string> ops;  // that are gone, the last one left out
};

class NormReader : SpellingReader {
 public:
  NormReader(Graph& graph, const std::vector<bool>& computed) : SpellingReader(graph, computed) {}

  bool Run() {
    const size_t count = graph_.ops.size();
    for (size_t o = 0; o < count; ++o) {
      const Op& op = graph_.ops[o];
      const bool roots = graph_.type_of(op) == "Sqrt" && op.inputs.size() == 1;
      const bool inverts = graph_.type_of(op) == "Pow" && op.inputs.size() == 2 && ConstantOf(op.inputs[1]) == -0.5;
      if ((!roots && !inverts) || !op.signature_pin.empty() || !op.inputs[0].valid()) continue;
      if (const std::optional<Norm> found = Find(op, inverts)) Write(*found);
    }
    edit_.Finish();
    return edit_.changed();
  }

 private:
  bool IsKnown(TensorId id) const { return id.valid() && (id.index() >= computed_.size() || !computed_[id.index()]); }
  bool IsType(const Op* op, std::string_view type) const { return op != nullptr && graph_.type_of(*op) == type; }

  // Figures of rows of `whole` along dimensions from `first` on: a number a row, whose shape is that of `whole` with
  // ones there.
  bool IsColumn(TensorId figure, const Shape& whole, size_t first) const {
    const Shape& shape = TypeOf(figure).shape;
    if (shape.size() != whole.size()) return false;
    for (size_t d = 0; d < whole.size(); ++d) {
      if (shape[d] != (d < first ? whole[d] : 1)) return false;
    }
    return true;
  }

  // The same without the ones, as sums have it that keep no dimensions.
  bool IsBare(TensorId figure, const Shape& whole, size_t first) const {
    const Shape& shape = TypeOf(figure).shape;
    return shape.size() == first && std::equal(shape.begin(), shape.end(), whole.begin());
  }

  // By how many places the spelling reads a tensor that it alone reads: the mean that is squared by what is centred,
  // too, which AreReadersGone asks for.
  std::ptrdiff_t PlacesOf(TensorId id) const {
    const auto [begin, end] = uses_.of(id);
    return id == squared_mean_ ? end - begin : 1;
  }

  bool AreReadersGone(const Norm& found) const {
    if (!squared_mean_.valid()) return true;
    const auto [begin, end] = uses_.of(squared_mean_);
    return std::all_of(begin, end, [&](const auto& use) {
      return std::ranges::find(found.ops, graph_.op(use.op).name) != found.ops.end();
    });
  }

  struct Mean {
    TensorId of;
    size_t first = 0;
    std::vector<std::string> ops;
  };
  // The mean of a tensor's last dimensions: ReduceMean, or ReduceSum over their size, with moves on the way.
  // `may_be_bare`: the ones may lack.
  std::optional<Mean> MeanOf(TensorId id, bool may_be_bare = false) {
    Mean mean;
    double factor = 1;
    if (const Op* expand = Inner(id, "Expand", 2)) {
      mean.ops.push_back(expand->name);
      id = expand->inputs[0];
    }
    const TensorId column = id;
    for (int step = 0; step < kMostNormOps; ++step) {
      if (const std::optional<Scaled> scaled = ScaledOf(id, PlacesOf(id))) {
        if (TypeOf(scaled->of).num_elements() != TypeOf(id).num_elements()) return std::nullopt;
        factor *= scaled->factor;
        mean.ops.push_back(scaled->op->name);
        id = scaled->of;
        continue;
      }
      if (const Op* choice = Inner(id, "Where", 3)) {  // jnp.var: not a number where nothing is left to divide by
        const std::optional<double> first = ConstantOf(choice->inputs[0]);
        const TensorId chosen = choice->inputs[first == 0.0 ? 2 : 1];
        if (!first || TypeOf(chosen) != TypeOf(id)) return std::nullopt;
        mean.ops.push_back(choice->name);
        id = chosen;
        continue;
      }
      const Op* move = MoveTo(id);
      if (move == nullptr) break;
      mean.ops.push_back(move->name);
      id = move->inputs[0];
    }
    const Op* reduce = Inner(id, "ReduceMean", 2, PlacesOf(id));
    const bool sums = reduce == nullptr;
    if (sums) reduce = Inner(id, "ReduceSum", 2, PlacesOf(id));
    if (reduce == nullptr || !IsKnown(reduce->inputs[0])) return std::nullopt;
    mean.of = reduce->inputs[0];
    const Shape& whole = TypeOf(mean.of).shape;
    const std::optional<size_t> first = FirstOfLast(reduce->inputs[1], whole.size());
    if (!first) return std::nullopt;
    if (!IsColumn(column, whole, *first) && !(may_be_bare && IsBare(column, whole, *first))) return std::nullopt;
    int64_t size = 1;
    for (size_t d = *first; d < whole.size(); ++d) size *= whole[d];
    if (size < 1 || std::abs(factor * (sums ? static_cast<double>(size) : 1) - 1) > 1e-6) return std::nullopt;
    mean.first = *first;
    mean.ops.push_back(reduce->name);
    return mean;
  }

  // What writes a tensor with the same elements in the same order.
  const Op* MoveTo(TensorId id) const {
    const Op* move = Inner(id, "Reshape", 2, PlacesOf(id));
    return move != nullptr ? move : Inner(id, "Unsqueeze", 2, PlacesOf(id));
  }

  // Of axes that are the last ones.
  std::optional<size_t> FirstOfLast(TensorId axes, size_t rank) const {
    const Literal* literal = graph_.tensor(axes).literal.get();
    if (literal == nullptr || literal->ints.empty() || literal->ints.size() > rank) return std::nullopt;
    std::vector<bool> taken(rank);
    for (const int64_t axis : literal->ints) {
      const int64_t from_front = axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
      if (from_front < 0 || from_front >= static_cast<int64_t>(rank)) return std::nullopt;
      taken[static_cast<size_t>(from_front)] = true;
    }
    const auto first = static_cast<size_t>(std::ranges::find(taken, true) - taken.begin());
    return std::all_of(taken.begin() + static_cast<ptrdiff_t>(first), taken.end(), [](bool is) { return is; })
               ? std::optional(first)
               : std::nullopt;
  }

  std::optional<Norm> Find(const Op& root, bool inverted) {
    Norm found;
    const TensorId shifted = root.inputs[0];
    const Op* sum = Inner(shifted, "Add", 2);
    if (sum == nullptr) return std::nullopt;
    const size_t side = ConstantOf(sum->inputs[1]) ? 1 : 0;
    const std::optional<double> epsilon = ConstantOf(sum->inputs[side]);
    if (!epsilon || !(*epsilon >= 0)) return std::nullopt;
    found.epsilon = *epsilon;
    found.ops = {root.name, sum->name};
    squared_mean_ = {};
    const TensorId variance = sum->inputs[1 - side];
    if (!TakeVarianceOfSquares(variance, found) && !TakePower(variance, found)) return std::nullopt;
    if (!IsColumn(shifted, TypeOf(found.centred).shape, found.first)) return std::nullopt;
    if (!IsKnown(found.x) || TypeOf(found.x) != TypeOf(found.centred)) return std::nullopt;
    const bool is_one = TakeProducts(root.outputs[0], inverted, found) && AreReadersGone(found);
    return is_one ? std::optional(std::move(found)) : std::nullopt;
  }

  // The mean of squares, of what is centred or is not.
  bool TakePower(TensorId id, Norm& found) {
    const std::optional<Mean> power = MeanOf(id);
    const std::optional<TensorId> squared = power ? SquareRootOf(power->of, found) : std::nullopt;
    if (!squared) return false;
    found.ops.insert(found.ops.end(), power->ops.begin(), power->ops.end());
    found.first = power->first;
    found.x = found.centred = *squared;
    TakeMean(found);
    return true;
  }

  // E[x^2] - E[x]^2, also as no less than 0. Leaves `found` where it is none.
  bool TakeVarianceOfSquares(TensorId id, Norm& found) {
    Norm tried = found;
    const Op* difference = nullptr;
    for (int step = 0; step < kMostNormOps && difference == nullptr; ++step) {
      const Op* passed = MoveTo(id);
      size_t side = 0;
      if (passed == nullptr) {
        passed = Inner(id, "Max", 2);
        side = passed != nullptr && ConstantOf(passed->inputs[0]) == 0.0 ? 1 : 0;
        if (passed != nullptr && ConstantOf(passed->inputs[1 - side]) != 0.0) return false;
      }
      difference = passed == nullptr ? Inner(id, "Sub", 2) : nullptr;
      if (passed == nullptr && difference == nullptr) return false;
      tried.ops.push_back((passed != nullptr ? passed : difference)->name);
      if (passed == nullptr) continue;
      if (TypeOf(passed->inputs[side]).num_elements() != TypeOf(id).num_elements()) return false;
      id = passed->inputs[side];
    }
    if (difference == nullptr) return false;
    const TensorId squares = difference->inputs[0], square = difference->inputs[1];
    if (TypeOf(squares) != TypeOf(id) || TypeOf(square) != TypeOf(id)) return false;
    const std::optional<TensorId> mean = SquareRootOf(square, tried);
    if (!mean) return false;
    squared_mean_ = *mean;
    if (!TakeMoments(squares, *mean, tried)) {
      squared_mean_ = {};
      return false;
    }
    found = std::move(tried);
    return true;
  }

  // E[x^2] and E[x].
  bool TakeMoments(TensorId squares, TensorId mean, Norm& found) {
    const std::optional<Mean> second = MeanOf(squares, true), first = MeanOf(mean, true);
    if (!first || !second || first->first != second->first) return false;
    if (SquareRootOf(second->of, found) != first->of) return false;
    for (const Mean* moment : {&*first, &*second})
      found.ops.insert(found.ops.end(), moment->ops.begin(), moment->ops.end());
    found.first = first->first;
    found.x = found.centred = first->of;
    found.has_mean = found.is_of_squares = true;
    return true;
  }

  // y, of y * y or y ^ 2.
  std::optional<TensorId> SquareRootOf(TensorId square, Norm& found) {
    if (const Op* product = Inner(square, "Mul", 2)) {
      if (product->inputs[0] != product->inputs[1]) return std::nullopt;
      found.ops.push_back(product->name);
      return product->inputs[0];
    }
    const Op* power = Inner(square, "Pow", 2);
    if (power == nullptr || ConstantOf(power->inputs[1]) != 2.0 || TypeOf(power->inputs[0]) != TypeOf(square))
      return std::nullopt;
    found.ops.push_back(power->name);
    return power->inputs[0];
  }

  // x - mean x: x. The ops are added to those that are gone.
  std::optional<TensorId> CentredOf(TensorId id, Norm& found) {
    const auto [begin, end] = uses_.of(id);
    const Op* difference = Inner(id, "Sub", 2, end - begin);
    if (difference == nullptr) return std::nullopt;
    const std::optional<Mean> mean = MeanOf(difference->inputs[1]);
    if (!mean || mean->of != difference->inputs[0] || mean->first != found.first) return std::nullopt;
    found.ops.insert(found.ops.end(), mean->ops.begin(), mean->ops.end());
    found.ops.push_back(difference->name);
    return mean->of;
  }

  void TakeMean(Norm& found) {
    const std::optional<TensorId> x = CentredOf(found.centred, found);
    if (!x) return;
    found.x = *x;
    found.has_mean = true;
  }

  // What is normalised, or the same difference once more: jnp.var subtracts a mean of its own.
  bool IsCentred(TensorId id, Norm& found) {
    if (id == found.centred && !found.is_of_squares) return true;
    return found.has_mean && TypeOf(id) == TypeOf(found.centred) && CentredOf(id, found) == found.x;
  }

  // The only reader of a tensor that is no output.
  const Op* OnlyReader(TensorId id) const {
    const auto [begin, end] = uses_.of(id);
    if (edit_.IsKept(id) || end - begin != 1) return nullptr;
    const Op& reader = graph_.op(begin->op);
    return reader.outputs.size() == 1 && reader.signature_pin.empty() ? &reader : nullptr;
  }

  // A number for each place along the normalised dimensions; also behind ones that stand for the others (flax).
  std::optional<TensorId> ScaleOf(TensorId id, const Norm& found) const {
    const Shape& whole = TypeOf(found.centred).shape;
    const Shape inner(whole.begin() + static_cast<ptrdiff_t>(found.first), whole.end());
    const Op* move = edit_.Producer(id);
    if ((IsType(move, "Reshape") || IsType(move, "Unsqueeze")) && TypeOf(id).shape != inner) {
      Shape column(found.first, 1);
      column.insert(column.end(), inner.begin(), inner.end());
      if (TypeOf(id).shape == column) id = move->inputs[0];
    }
    return IsKnown(id) && TypeOf(id).shape == inner ? std::optional(id) : std::nullopt;
  }

  // From the root on, over one op a time: inverted, times or under what is normalised, rounded, times the scale, in any
  // order of the two, and the bias behind it.
  bool TakeProducts(TensorId at, bool inverted, Norm& found) {
    const TensorType& whole = TypeOf(found.centred);
    if (whole.dtype != DType::kF32 && whole.dtype != DType::kF64) return false;
    bool has_x = false;
    std::vector<const Op*> passed;
    for (int step = 0; step < kMostNormOps && !(has_x && found.scale.valid()); ++step) {
      const Op* op = OnlyReader(at);
      if (op == nullptr || !TakeFactor(*op, at, inverted, has_x, found)) break;
      passed.push_back(op);
      at = op->outputs[0];
    }
    if (!has_x || TypeOf(at).shape != whole.shape) return false;
    if (!found.scale.valid() && found.rounded && !HasTypes(at, found)) {  // then rounding is a step behind the norm
      found.rounded.reset();
      passed.pop_back();
      at = passed.back()->outputs[0];
    }
    const Op* sum = found.has_mean ? OnlyReader(at) : nullptr;
    if (IsType(sum, "Add") && sum->inputs.size() == 2) {
      const std::optional<TensorId> bias = ScaleOf(sum->inputs[sum->inputs[0] == at ? 1 : 0], found);
      if (bias && TypeOf(*bias).dtype == TypeOf(at).dtype) {
        found.bias = *bias;
        passed.push_back(sum);
        at = sum->outputs[0];
      }
    }
    found.last = passed.back();
    passed.pop_back();
    for (const Op* op : passed) found.ops.push_back(op->name);
    return HasTypes(at, found);
  }

  bool TakeFactor(const Op& op, TensorId at, bool& inverted, bool& has_x, Norm& found) {
    const std::string_view type = graph_.type_of(op);
    if (type == "Reciprocal" && !inverted && !has_x) return inverted = true;
    if (type == "Cast") {
      if (!has_x || found.scale.valid() || found.rounded) return false;  // rounded twice is another number
      found.rounded = TypeOf(op.outputs[0]).dtype;
      return true;
    }
    if (op.inputs.size() != 2 || !op.inputs[0].valid() || !op.inputs[1].valid()) return false;
    if (type == "Reshape" || type == "Unsqueeze" || type == "Expand") {
      const Shape &from = TypeOf(at).shape, &to = TypeOf(op.outputs[0]).shape, &whole = TypeOf(found.centred).shape;
      return !has_x && !found.scale.valid() && op.inputs[0] == at && (to == from || to == whole);
    }
    const TensorId other = op.inputs[op.inputs[0] == at ? 1 : 0];
    if (type == "Div") {
      if (inverted || has_x || op.inputs[1] != at) return false;
      inverted = true;
      if (IsCentred(other, found)) return has_x = true;
      return ConstantOf(other) == 1.0;
    }
    if (type != "Mul" || !inverted || op.inputs[0] == op.inputs[1]) return false;
    if (!has_x && IsCentred(other, found)) return has_x = true;
    const std::optional<TensorId> scale = ScaleOf(other, found);
    if (!scale || found.scale.valid()) return false;
    found.scale = *scale;
    return true;
  }

  // Are the results of the pieces, each rounded to its type, those of the operator? It computes in f32, or in f64, and
  // rounds to the type of the scale (of x, for layers) before the scale.
  bool HasTypes(TensorId made, Norm& found) {
    const DType type = TypeOf(found.centred).dtype;
    const DType scale = TypeOf(found.scale.valid() ? found.scale : made).dtype;
    if (TypeOf(made).dtype != scale || (found.rounded && *found.rounded != scale)) return false;
    const Op* cast = edit_.Producer(found.x);
    const bool widened = IsType(cast, "Cast") && type == DType::kF32 && IsFloat(TypeOf(cast->inputs[0]).dtype) &&
                         DTypeBits(TypeOf(cast->inputs[0]).dtype) == 16;
    if (!found.has_mean) {
      if (widened) found.x = cast->inputs[0];
      return scale == type || DTypeBits(scale) == 16;
    }
    if (scale == type) return true;
    if (!widened || TypeOf(cast->inputs[0]).dtype != scale) return false;
    found.x = cast->inputs[0];
    return true;
  }

  // A scale that changes nothing, before op number `place`.
  TensorId Ones(const Norm& found, size_t place) {
    const Op last = *found.last;
    const TensorType whole = TypeOf(last.outputs[0]);
    const Shape inner(whole.shape.begin() + static_cast<ptrdiff_t>(found.first), whole.shape.end());
    const TensorId one = edit_.AddTensor(StrCat(last.name, "/one"), {whole.dtype, {}});
    graph_.tensor(one).role = TensorRole::kParameter;
    graph_.tensor(one).literal = std::make_shared<const Literal>(Literal::Float(1, whole.dtype));
    const TensorId sizes = edit_.AddInts(std::vector<int64_t>(inner.begin(), inner.end()));
    const std::string name = StrCat(last.name, "/ones");
    Op op = edit_.MakeOp(last, "Expand", name, {one, sizes});
    op.outputs = {edit_.AddTensor(name, {whole.dtype, inner})};
    const TensorId ones = op.outputs[0];
    edit_.Insert(place, std::move(op));
    return ones;
  }

  void Write(const Norm& found) {
    const Op last = *found.last;
    const auto place = static_cast<size_t>(found.last - graph_.ops.data());
    edit_.Remove(place);
    std::vector<TensorId> operands = {found.x, found.scale.valid() ? found.scale : Ones(found, place)};
    if (found.bias.valid()) operands.push_back(found.bias);
    Op op = edit_.MakeOp(last, found.has_mean ? "LayerNormalization" : "RMSNormalization", last.name, operands);
    op.outputs = last.outputs;
    Attributes attributes;
    attributes.Set("axis", static_cast<int64_t>(found.first) - static_cast<int64_t>(TypeOf(found.x).shape.size()));
    attributes.Set("epsilon", found.epsilon);
    op.attributes = std::make_shared<const Attributes>(std::move(attributes));
    op.metadata.emplace_back(kSimplifiedFrom, StrCat(Join(found.ops, ", "), ", ", last.name));
    edit_.Insert(place, std::move(op));
  }

  TensorId squared_mean_;  // of the norm at hand, where its variance is of squares
};

}  // namespace

bool SpelledNorms(Graph& graph, const std::vector<bool>& computed) {
  return !RunsAsWritten(graph) && NormReader(graph, computed).Run();
}

}  // namespace sbp::simplify
