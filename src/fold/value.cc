#include "fold/value.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked_math.h"

namespace sbp {

std::optional<int64_t> SmallCount(const Shape& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) {
    if (size < 0) return std::nullopt;
    count = SaturatingMul(count, size);
  }
  return count <= kMaxLiteralElements ? std::optional(count) : std::nullopt;
}

Literal EmptyLiteral(DType dtype, Shape shape) {
  Literal literal;
  literal.type.dtype = dtype;
  literal.type.shape = std::move(shape);
  return literal;
}

void AppendElementOf(const Literal& source, size_t index, Literal& out) {
  if (!source.ints.empty())
    out.ints.push_back(source.ints[index]);
  else if (!source.floats.empty())
    out.floats.push_back(source.floats[index]);
  else if (!source.strings.empty())
    out.strings.push_back(source.strings[index]);
}

Literal Pick(const Literal& source, const std::vector<int64_t>& indices, Shape shape) {
  Literal out = EmptyLiteral(source.type.dtype, std::move(shape));
  for (const int64_t index : indices) AppendElementOf(source, static_cast<size_t>(index), out);
  return out;
}

std::vector<int64_t> Strides(const Shape& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride = SaturatingMul(stride, shape[d]);
  }
  return strides;
}

std::vector<int64_t> BroadcastStrides(const Shape& shape, const Shape& target) {
  const std::vector<int64_t> own = Strides(shape);
  std::vector<int64_t> strides(target.size(), 0);
  const size_t missing = target.size() - shape.size();
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != 1) strides[missing + d] = own[d];
  }
  return strides;
}

std::optional<Shape> BroadcastShape(const Shape& a, const Shape& b) {
  Shape shape(std::max(a.size(), b.size()));
  for (size_t d = 0; d < shape.size(); ++d) {  // counted from the end
    const int64_t x = d < a.size() ? a[a.size() - 1 - d] : 1;
    const int64_t y = d < b.size() ? b[b.size() - 1 - d] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    shape[shape.size() - 1 - d] = x == 1 ? y : x;
  }
  return shape;
}

std::vector<int64_t> FlatIndices(const Shape& shape, const std::vector<int64_t>& strides) {
  std::vector<int64_t> flat_indices;
  const int64_t count = SmallCount(shape).value_or(0);
  flat_indices.reserve(static_cast<size_t>(count));
  Shape index(shape.size(), 0);
  int64_t flat = 0;
  for (int64_t i = 0; i < count; ++i) {
    flat_indices.push_back(flat);
    for (size_t d = shape.size(); d-- > 0;) {
      flat += strides[d];
      if (++index[d] < shape[d]) break;
      flat -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
  return flat_indices;
}

std::optional<size_t> Axis(int64_t axis, size_t rank) {
  if (axis < 0) axis += static_cast<int64_t>(rank);
  if (axis < 0 || axis >= static_cast<int64_t>(rank)) return std::nullopt;
  return static_cast<size_t>(axis);
}

std::optional<std::vector<int64_t>> IntsOf(const FoldRequest& request, size_t operand) {
  const Literal& value = request.value(operand);
  if (!value.is_integral() || value.type.rank() > 1) return std::nullopt;
  return value.ints;
}

std::optional<std::vector<size_t>> AxesOf(const FoldRequest& request, size_t operand, std::string_view name,
                                          size_t rank, std::vector<size_t> fallback) {
  std::vector<int64_t> given;
  if (request.has(operand)) {
    const std::optional<std::vector<int64_t>> ints = IntsOf(request, operand);
    if (!ints) return std::nullopt;
    given = *ints;
  } else if (const std::vector<int64_t>* attribute = request.attributes->Ints(name); attribute != nullptr) {
    given = *attribute;
  } else {
    return fallback;
  }
  std::vector<size_t> axes;
  for (const int64_t axis : given) {
    const std::optional<size_t> good = Axis(axis, rank);
    if (!good || std::ranges::count(axes, *good) > 0) return std::nullopt;
    axes.push_back(*good);
  }
  return axes;
}

int64_t WrapInteger(DType dtype, int64_t value) {
  if (dtype == DType::kBool) return value != 0 ? 1 : 0;
  const int bits = DTypeBits(dtype);
  if (bits == 0 || bits >= 64) return value;
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  const uint64_t low = static_cast<uint64_t>(value) & mask;
  const uint64_t sign = uint64_t{1} << (bits - 1);
  return IsSigned(dtype) ? static_cast<int64_t>((low ^ sign) - sign) : static_cast<int64_t>(low);
}

bool CanRound(DType dtype) {
  return dtype == DType::kF64 || dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

std::optional<double> RoundFloat(DType dtype, double value) {
  if (dtype == DType::kF64) return value;
  if (dtype == DType::kF32) return static_cast<double>(static_cast<float>(value));
  if (!CanRound(dtype)) return std::nullopt;
  if (value == 0 || !std::isfinite(value)) return value;
  const int digits = dtype == DType::kF16 ? 11 : 8;
  const int least_exponent = dtype == DType::kF16 ? -14 : -126;  // of a normal number
  int exponent;
  std::frexp(value, &exponent);  // value = m * 2^exponent, 0.5 <= |m| < 1
  const int unit = std::max(exponent, least_exponent + 1) - digits;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
  const double largest = dtype == DType::kF16 ? 65504.0 : static_cast<double>(std::ldexp(255.0, 120));
  return std::abs(rounded) > largest ? std::copysign(std::numeric_limits<double>::infinity(), value) : rounded;
}

}  // namespace sbp
