// Values of dense attributes.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/literal.h"
#include "graph/literal_bits.h"
#include "stablehlo/cursor.h"
#include "stablehlo/syntax.h"

namespace sbp::stablehlo {
namespace {

// Of a constant that the text holds. Larger ones belong into arguments.
constexpr int64_t kMaxConstantElements = int64_t{1} << 20;

// "0x0000803F": bytes, little-endian, of all elements or of one.
Status ReadBlob(Cursor& cursor, Literal& literal) {
  SBP_ASSIGN_OR_RETURN(const std::string text, cursor.String());
  if (!text.starts_with("0x") || text.size() % 2 != 0) return cursor.Error("expected \"0x...\", two digits a byte");
  std::string bytes;
  for (size_t i = 2; i + 1 < text.size(); i += 2) {
    const int high = HexDigit(text[i]), low = HexDigit(text[i + 1]);
    if (high < 0 || low < 0) return cursor.Error("expected hexadecimal digits");
    bytes += static_cast<char>(high * 16 + low);
  }
  const int bits = DTypeBits(literal.type.dtype);
  if (bits < 8) return cursor.Error(StrCat("values of ", DTypeName(literal.type.dtype), " in bytes are not read"));
  const auto size = static_cast<int64_t>(bytes.size());
  if (size == bits / 8) {
    literal.type.shape.clear();
  } else if (size != literal.type.num_bytes()) {
    return cursor.Error(StrCat("expected ", literal.type.num_bytes(), " bytes; found ", size));
  }
  AppendElements(bytes, literal);
  return OkStatus();
}

// One number, true or false; 0x... is the bits of a float.
Status ReadNumber(Cursor& cursor, Literal& literal) {
  const size_t start = cursor.offset();
  const std::string_view text = cursor.Number();
  if (text == "true" || text == "false") {
    literal.ints.push_back(text == "true" ? 1 : 0);
    return OkStatus();
  }
  if (text.starts_with("0x") || text.starts_with("0X")) {
    uint64_t pattern = 0;
    for (const char c : text.substr(2)) {
      if (HexDigit(c) < 0 || (pattern >> 60) != 0)
        return cursor.ErrorAt(start, "expected at most 16 hexadecimal digits");
      pattern = pattern * 16 + static_cast<uint64_t>(HexDigit(c));
    }
    AppendElement(pattern, literal);
    return OkStatus();
  }
  if (literal.is_integral()) {
    if (const std::optional<int64_t> value = ParseInt(text)) {
      literal.ints.push_back(*value);
      return OkStatus();
    }
    // Of u64, above the greatest i64.
    uint64_t pattern = 0;
    for (const char c : text) {
      if (c < '0' || c > '9' || pattern > UINT64_MAX / 10) return cursor.ErrorAt(start, "expected a whole number");
      pattern = pattern * 10 + static_cast<uint64_t>(c - '0');
    }
    if (text.empty()) return cursor.Unexpected("a number");
    literal.ints.push_back(static_cast<int64_t>(pattern));
    return OkStatus();
  }
  const std::optional<double> value = ParseDouble(text);
  if (!value) return cursor.ErrorAt(start, "expected a number");
  literal.floats.push_back(*value);
  return OkStatus();
}

}  // namespace

Result<Literal> ReadDense(const Attribute& dense, std::string_view text, bool* splat) {
  Cursor cursor(text, dense.begin, dense.end);
  Literal literal;
  literal.type = dense.type.tensor;
  if (literal.type.dtype == DType::kUndefined || IsComplex(literal.type.dtype) || !literal.type.is_static()) {
    return cursor.Error(StrCat("constants of ", dense.type.text, " are not read"));
  }
  const int64_t count = literal.type.num_elements();
  *splat = false;
  if (cursor.Peek() == '"') {
    SBP_RETURN_IF_ERROR(ReadBlob(cursor, literal));
  } else {
    while (!cursor.AtEnd()) {
      if (cursor.Take("[") || cursor.Take("]") || cursor.Take(",")) continue;
      if (cursor.Peek() == '(') return cursor.Error("complex numbers are not read");
      SBP_RETURN_IF_ERROR(ReadNumber(cursor, literal));
    }
  }
  const auto found = static_cast<int64_t>(std::max(literal.ints.size(), literal.floats.size()));
  if (found == 1 && count != 1) {
    *splat = true;
    literal.type.shape.clear();
    return literal;
  }
  if (found != count)
    return cursor.Error(StrCat("expected ", count, " values, of ", dense.type.text, "; found ", found));
  literal.type = dense.type.tensor;
  if (count > kMaxConstantElements) {
    return cursor.Error(StrCat("a constant of ", FormatCount(count), " elements; at most ",
                               FormatCount(kMaxConstantElements),
                               " are read: pass the array as an argument of the function"));
  }
  return literal;
}

Result<std::vector<int64_t>> IntegersOf(const Attribute& attribute, std::string_view text) {
  if (attribute.kind == Attribute::Kind::kIntegers) return attribute.integers;
  if (attribute.kind == Attribute::Kind::kInteger) return std::vector<int64_t>{attribute.integer};
  std::vector<int64_t> values;
  if (attribute.kind == Attribute::Kind::kDense) {
    bool splat = false;
    SBP_ASSIGN_OR_RETURN(const Literal literal, ReadDense(attribute, text, &splat));
    if (!literal.is_integral()) return BadInput("expected whole numbers");
    const int64_t count = std::min(attribute.type.tensor.num_elements(), int64_t{65536});
    return splat ? std::vector<int64_t>(static_cast<size_t>(count), literal.ints.front()) : literal.ints;
  }
  if (attribute.kind != Attribute::Kind::kList) return BadInput("expected a list of whole numbers");
  for (const Attribute& item : attribute.list) {
    if (item.kind != Attribute::Kind::kInteger) return BadInput("expected a list of whole numbers");
    values.push_back(item.integer);
  }
  return values;
}

}  // namespace sbp::stablehlo
