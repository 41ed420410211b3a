// Ops whose results are made from sizes (Shape, Range, ...) or by writing into an operand (Scatter...).
#include <algorithm>
#include <cmath>

#include "base/checked_math.h"
#include "fold/evaluators.h"
#include "fold/value.h"

namespace sbp::evaluators {
namespace {

using Results = std::vector<Literal>;

// Writes element `from` of `source` over element `to` of `out`.
void Overwrite(Literal& out, size_t to, const Literal& source, size_t from) {
  if (!source.ints.empty())
    out.ints[to] = source.ints[from];
  else if (!source.floats.empty())
    out.floats[to] = source.floats[from];
  else if (!source.strings.empty())
    out.strings[to] = source.strings[from];
}

bool PlainScatter(const FoldRequest& request) { return request.attributes->String("reduction", "none") == "none"; }

}  // namespace

bool ShapeOf(const FoldRequest& request, Results& results) {
  if (!request.has(0) || request.operands[0].type->kind != ValueKind::kTensor) return false;
  const TensorType& type = *request.operands[0].type;
  if (!type.is_static()) return false;
  const int64_t rank = type.rank();
  const auto clamped = [&](int64_t bound) {
    return std::clamp<int64_t>(bound < 0 ? SaturatingAdd(bound, rank) : bound, 0, rank);
  };
  const int64_t start = clamped(request.attributes->Int("start", 0));
  const int64_t end = clamped(request.attributes->Int("end", rank));
  results.push_back(Literal::Ints(start < end ? Shape(type.shape.begin() + start, type.shape.begin() + end) : Shape()));
  return true;
}

bool SequenceLength(const FoldRequest& request, Results& results) {
  if (!request.has(0) || request.operands[0].type->kind != ValueKind::kSequence) return false;
  const Shape& stacked = request.operands[0].type->shape;
  if (stacked.empty() || stacked[0] == kUnknownDim) return false;
  results.push_back(Literal::Scalar(stacked[0]));
  return true;
}

bool Size(const FoldRequest& request, Results& results) {
  if (!request.has(0) || request.operands[0].type->kind != ValueKind::kTensor) return false;
  const TensorType& type = *request.operands[0].type;
  if (!type.is_static() || type.num_elements() == kInt64Max) return false;
  results.push_back(Literal::Scalar(type.num_elements()));
  return true;
}

bool ConstantOfShape(const FoldRequest& request, Results& results) {
  const std::optional<std::vector<int64_t>> shape = IntsOf(request, 0);
  if (!shape) return false;
  const std::optional<int64_t> count = SmallCount(*shape);
  if (!count) return false;
  Literal element = Literal::Float(0);
  if (const AttributeValue* value = request.attributes->Find("value"); value != nullptr) {
    const auto* literal = std::get_if<LiteralRef>(value);
    if (literal == nullptr || (*literal)->type.num_elements() != 1) return false;
    element = **literal;
  }
  results.push_back(Pick(element, std::vector<int64_t>(static_cast<size_t>(*count), 0), *shape));
  return true;
}

bool Range(const FoldRequest& request, Results& results) {
  const Literal& start = request.value(0);
  const Literal& limit = request.value(1);
  const Literal& delta = request.value(2);
  for (const Literal* bound : {&start, &limit, &delta}) {
    if (bound->type.num_elements() != 1 || bound->type.dtype != start.type.dtype) return false;
  }
  if (start.is_integral()) {
    const int64_t step = delta.ints[0];
    if (step == 0) return false;
    const __int128 span = static_cast<__int128>(limit.ints[0]) - start.ints[0];
    const __int128 count = span / step + ((span % step != 0 && (span < 0) == (step < 0)) ? 1 : 0);
    if (count > kMaxLiteralElements) return false;
    Literal out = EmptyLiteral(start.type.dtype, {count > 0 ? static_cast<int64_t>(count) : 0});
    for (int64_t i = 0; i < out.type.shape[0]; ++i) out.ints.push_back(start.ints[0] + i * step);
    results.push_back(std::move(out));
    return true;
  }
  if (!CanRound(start.type.dtype)) return false;
  const double count = std::ceil((limit.floats[0] - start.floats[0]) / delta.floats[0]);
  if (!(count <= static_cast<double>(kMaxLiteralElements))) return false;  // also refuses NaN
  Literal out = EmptyLiteral(start.type.dtype, {count > 0 ? static_cast<int64_t>(count) : 0});
  for (int64_t i = 0; i < out.type.shape[0]; ++i) {
    out.floats.push_back(*RoundFloat(start.type.dtype, start.floats[0] + static_cast<double>(i) * delta.floats[0]));
  }
  results.push_back(std::move(out));
  return true;
}

bool NonZero(const FoldRequest& request, Results& results) {
  const Literal& data = request.value(0);
  if (data.type.dtype == DType::kString || IsComplex(data.type.dtype)) return false;
  std::vector<int64_t> found;
  const int64_t count = data.type.num_elements();
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    if (data.is_integral() ? data.ints[at] != 0 : data.floats[at] != 0) found.push_back(i);
  }
  const std::vector<int64_t> strides = Strides(data.type.shape);
  Shape shape = {data.type.rank(), static_cast<int64_t>(found.size())};
  if (!SmallCount(shape)) return false;
  Literal out = EmptyLiteral(DType::kI64, std::move(shape));
  for (size_t d = 0; d < data.type.shape.size(); ++d) {
    for (const int64_t flat : found) out.ints.push_back(flat / strides[d] % data.type.shape[d]);
  }
  results.push_back(std::move(out));
  return true;
}

bool ScatterND(const FoldRequest& request, Results& results) {
  const Literal& data = request.value(0);
  const Literal& where = request.value(1);
  const Literal& updates = request.value(2);
  if (!PlainScatter(request) || !where.is_integral() || where.type.shape.empty() ||
      updates.type.dtype != data.type.dtype)
    return false;
  const auto depth = static_cast<size_t>(where.type.shape.back());
  if (depth == 0 || depth > data.type.shape.size()) return false;
  const std::vector<int64_t> strides = Strides(data.type.shape);
  const auto inner = static_cast<size_t>(strides[depth - 1]);
  const size_t rows = where.ints.size() / depth;
  if (static_cast<int64_t>(rows * inner) != updates.type.num_elements()) return false;
  Literal out = data;
  out.raw.clear();
  for (size_t row = 0; row < rows; ++row) {
    int64_t flat = 0;
    for (size_t d = 0; d < depth; ++d) {
      int64_t index = where.ints[row * depth + d];
      if (index < 0) index += data.type.shape[d];
      if (index < 0 || index >= data.type.shape[d]) return false;
      flat += index * strides[d];
    }
    for (size_t k = 0; k < inner; ++k) Overwrite(out, static_cast<size_t>(flat) + k, updates, row * inner + k);
  }
  results.push_back(std::move(out));
  return true;
}

bool ScatterElements(const FoldRequest& request, Results& results) {
  const Literal& data = request.value(0);
  const Literal& where = request.value(1);
  const Literal& updates = request.value(2);
  const std::optional<size_t> axis = Axis(request.attributes->Int("axis", 0), data.type.shape.size());
  if (!PlainScatter(request) || !axis || !where.is_integral() || updates.type.dtype != data.type.dtype ||
      where.type.shape != updates.type.shape || where.type.shape.size() != data.type.shape.size()) {
    return false;
  }
  for (size_t d = 0; d < data.type.shape.size(); ++d) {
    if (d != *axis && where.type.shape[d] > data.type.shape[d]) return false;
  }
  std::vector<int64_t> strides = Strides(data.type.shape);
  const int64_t along = strides[*axis];
  strides[*axis] = 0;
  Literal out = data;
  out.raw.clear();
  size_t at = 0;
  bool good = true;
  for (const int64_t flat : FlatIndices(where.type.shape, strides)) {
    int64_t index = where.ints[at];
    if (index < 0) index += data.type.shape[*axis];
    good = good && index >= 0 && index < data.type.shape[*axis];
    if (good) Overwrite(out, static_cast<size_t>(flat + index * along), updates, at);
    ++at;
  }
  if (good) results.push_back(std::move(out));
  return good;
}

}  // namespace sbp::evaluators
