#include "graph/literal.h"

#include <algorithm>

#include "base/dtype.h"
#include "base/hash.h"
#include "base/text.h"

namespace sbp {
namespace {

template <typename Values, typename Format>
std::string ListValues(const Literal& literal, const Values& values, size_t limit, Format format) {
  if (literal.type.rank() == 0 && values.size() == 1) return format(values[0]);
  std::string text = "[";
  // Of a long list the first ones; what is left out is counted.
  const size_t shown = values.size() <= limit ? values.size() : limit / 2;
  for (size_t i = 0; i < shown; ++i) {
    if (i > 0) text += ", ";
    text += format(values[i]);
  }
  if (shown < values.size()) text += StrCat(shown > 0 ? ", " : "", "... (", values.size(), " values)");
  return text + "]";
}

}  // namespace

Literal Literal::Ints(std::vector<int64_t> values, DType dtype) {
  Literal literal;
  literal.type.dtype = dtype;
  literal.type.shape = {static_cast<int64_t>(values.size())};
  literal.ints = std::move(values);
  return literal;
}

Literal Literal::Scalar(int64_t value, DType dtype) {
  Literal literal;
  literal.type.dtype = dtype;
  literal.ints = {value};
  return literal;
}

Literal Literal::Float(double value, DType dtype) {
  Literal literal;
  literal.type.dtype = dtype;
  literal.floats = {value};
  return literal;
}

bool SameBits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) { return SameBits(x, y); });
}

bool operator==(const Literal& a, const Literal& b) {
  return a.type == b.type && a.ints == b.ints && SameBits(a.floats, b.floats) && a.strings == b.strings &&
         a.raw == b.raw && a.sparse == b.sparse;
}

size_t HashLiteral(const Literal& literal) {
  size_t seed = HashOf(literal.type);
  seed = HashRange(seed, literal.ints);
  seed = HashRange(seed, literal.floats);
  seed = HashRange(seed, literal.strings);
  return HashCombine(seed, HashOf(literal.raw));
}

std::string ToString(const Literal& literal, size_t limit) {
  if (IsFloat(literal.type.dtype)) return ListValues(literal, literal.floats, limit, FormatDouble);
  if (literal.type.dtype == DType::kString) return ListValues(literal, literal.strings, limit, Quote);
  if (literal.is_integral()) {
    return ListValues(literal, literal.ints, limit, [](int64_t value) { return std::to_string(value); });
  }
  return StrCat("(", literal.raw.size(), " bytes)");
}

}  // namespace sbp
