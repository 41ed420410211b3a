// Types, attributes and locations.
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/tensor_type.h"
#include "stablehlo/cursor.h"
#include "stablehlo/syntax.h"

namespace sbp::stablehlo {
namespace {

constexpr int kMaxAttributeDepth = 32;

struct ElementType {
  std::string_view name;
  DType dtype;
};
constexpr ElementType kElementTypes[] = {
    {"f32", DType::kF32},
    {"f64", DType::kF64},
    {"f16", DType::kF16},
    {"bf16", DType::kBF16},
    {"i1", DType::kBool},
    {"i8", DType::kI8},
    {"i16", DType::kI16},
    {"i32", DType::kI32},
    {"i64", DType::kI64},
    {"ui8", DType::kU8},
    {"ui16", DType::kU16},
    {"ui32", DType::kU32},
    {"ui64", DType::kU64},
    {"i4", DType::kI4},
    {"ui4", DType::kU4},
    {"f8E4M3FN", DType::kF8E4M3FN},
    {"f8E5M2", DType::kF8E5M2},
    {"f8E4M3FNUZ", DType::kF8E4M3FNUZ},
    {"f8E5M2FNUZ", DType::kF8E5M2FNUZ},
    {"i2", DType::kI2},
    {"ui2", DType::kU2},
};

DType ElementTypeOf(std::string_view name) {
  const auto row = std::ranges::find(kElementTypes, name, &ElementType::name);
  return row == std::end(kElementTypes) ? DType::kUndefined : row->dtype;
}

// "2x?x4xf32" and what may follow it. Of no element type that we have: kUndefined.
TensorType TensorOf(std::string_view text) {
  TensorType type;
  text = text.substr(0, text.find(','));
  for (text = Trim(text); !text.empty();) {
    if (text[0] != '?' && std::isdigit(static_cast<unsigned char>(text[0])) == 0) break;
    const size_t end = text.find('x');
    if (end == std::string_view::npos) return {};
    const std::optional<int64_t> size = ParseInt(text.substr(0, end));
    if (!size && text.substr(0, end) != "?") return {};
    type.shape.push_back(size ? *size : kUnknownDim);
    text.remove_prefix(end + 1);
    if (type.shape.size() > 64) return {};
  }
  type.dtype = ElementTypeOf(text);
  return type;
}

}  // namespace

Result<Type> ParseType(Cursor& cursor) {
  Type type;
  cursor.AtEnd();
  const size_t start = cursor.offset();
  if (cursor.Peek() == '(') {  // of a function
    SBP_RETURN_IF_ERROR(cursor.Balanced().status());
    SBP_RETURN_IF_ERROR(cursor.Expect("->", "in the type of a function"));
    if (cursor.Peek() == '(') {
      SBP_RETURN_IF_ERROR(cursor.Balanced().status());
    } else {
      cursor.Take("!");
      cursor.Word();
      if (cursor.Peek() == '<') {
        SBP_RETURN_IF_ERROR(cursor.Balanced().status());
      }
    }
    type.text = std::string(cursor.whole().substr(start, cursor.offset() - start));
    return type;
  }
  cursor.Take("!");
  const std::string_view word = cursor.Word();
  if (word.empty()) return cursor.Unexpected("a type, such as tensor<2x4xf32>");
  if (cursor.Peek() == '<') {
    SBP_ASSIGN_OR_RETURN(const Cursor inside, cursor.Balanced());
    if (word == "tensor") type.tensor = TensorOf(inside.rest());
  }
  type.text = std::string(cursor.whole().substr(start, cursor.offset() - start));
  return type;
}

namespace {

class AttributeParser {
 public:
  AttributeParser(Cursor& cursor, const Dictionary& aliases) : cursor_(cursor), aliases_(aliases) {}

  Result<Attribute> Read(int depth) {
    if (depth > kMaxAttributeDepth) return cursor_.Error("attributes are nested too deeply");
    Attribute attribute;
    const char next = cursor_.Peek();
    if (next == '"') {
      attribute.kind = Attribute::Kind::kString;
      SBP_ASSIGN_OR_RETURN(attribute.text, cursor_.String());
      return attribute;
    }
    if (next == '@') return Symbol();
    if (next == '[') return List(depth);
    if (next == '{') return Entries(depth);
    if (next == '#') return Dialect();
    if (next == '-' || std::isdigit(static_cast<unsigned char>(next)) != 0) return Number();
    if (next == '(') return TypeAttribute();
    return WordAttribute();
  }

 private:
  Result<Attribute> Symbol() {
    Attribute attribute;
    attribute.kind = Attribute::Kind::kSymbol;
    do {
      cursor_.Take("@");
      if (cursor_.Peek() == '"') {
        SBP_ASSIGN_OR_RETURN(attribute.text, cursor_.String());
      } else {
        attribute.text = std::string(cursor_.Word());
      }
    } while (cursor_.Take("::"));
    return attribute;
  }

  Result<Attribute> List(int depth) {
    Attribute attribute;
    attribute.kind = Attribute::Kind::kList;
    cursor_.Take("[");
    if (cursor_.Take("]")) return attribute;
    do {
      SBP_ASSIGN_OR_RETURN(Attribute item, Read(depth + 1));
      attribute.list.push_back(std::move(item));
    } while (cursor_.Take(","));
    SBP_RETURN_IF_ERROR(cursor_.Expect("]", "behind the list"));
    return attribute;
  }

  Result<Attribute> Entries(int depth) {
    Attribute attribute;
    attribute.kind = Attribute::Kind::kDictionary;
    attribute.begin = cursor_.offset();
    cursor_.Take("{");
    const bool is_empty = cursor_.Take("}");
    attribute.end = cursor_.offset();
    if (is_empty) return attribute;
    do {
      std::string name;
      cursor_.Peek();
      const size_t entry_begin = cursor_.offset();
      if (cursor_.Peek() == '"') {
        SBP_ASSIGN_OR_RETURN(name, cursor_.String());
      } else {
        name = std::string(cursor_.Word());
      }
      if (name.empty()) return cursor_.Unexpected("the name of an attribute");
      Attribute value;
      if (cursor_.Take("=")) {
        SBP_ASSIGN_OR_RETURN(value, Read(depth + 1));
      }
      value.entry_begin = entry_begin;
      value.entry_end = cursor_.offset();
      attribute.entries.insert_or_assign(std::move(name), std::move(value));
    } while (cursor_.Take(","));
    SBP_RETURN_IF_ERROR(cursor_.Expect("}", "behind the attributes"));
    attribute.end = cursor_.offset();
    return attribute;
  }

  Result<Attribute> Dialect() {
    Attribute attribute;
    attribute.kind = Attribute::Kind::kDialect;
    const size_t start = cursor_.offset();
    cursor_.Take("#");
    attribute.text = std::string(cursor_.Word());
    if (cursor_.Peek() != '<') {
      const auto alias = aliases_.find(StrCat("#", attribute.text));
      if (alias == aliases_.end()) return cursor_.ErrorAt(start, StrCat("#", attribute.text, " is not defined"));
      return alias->second;
    }
    SBP_ASSIGN_OR_RETURN(const Cursor inside, cursor_.Balanced());
    attribute.begin = inside.offset();
    attribute.end = inside.offset() + inside.rest().size();
    return attribute;
  }

  Result<Attribute> Number() {
    Attribute attribute;
    const size_t start = cursor_.offset();
    const std::string_view text = cursor_.Number();
    if (const std::optional<int64_t> integer = ParseInt(text)) {
      attribute.kind = Attribute::Kind::kInteger;
      attribute.integer = *integer;
    } else if (const std::optional<double> number = ParseDouble(text)) {
      attribute.kind = Attribute::Kind::kFloat;
      attribute.number = *number;
    } else if (text.starts_with("0x")) {  // bits of a float: nobody asks for these
      attribute.kind = Attribute::Kind::kUnit;
    } else {
      return cursor_.ErrorAt(start, "expected a number");
    }
    if (cursor_.Take(":")) {
      SBP_ASSIGN_OR_RETURN(attribute.type, ParseType(cursor_));
    }
    return attribute;
  }

  Result<Attribute> TypeAttribute() {
    Attribute attribute;
    attribute.kind = Attribute::Kind::kType;
    SBP_ASSIGN_OR_RETURN(attribute.type, ParseType(cursor_));
    return attribute;
  }

  Result<Attribute> WordAttribute() {
    const Cursor before = cursor_;
    const std::string_view word = cursor_.Word();
    Attribute attribute;
    if (word == "unit") return attribute;
    if (word == "true" || word == "false") {
      attribute.kind = Attribute::Kind::kInteger;
      attribute.integer = word == "true" ? 1 : 0;
      return attribute;
    }
    if (word == "dense") return Dense();
    if (word == "array") return Array();
    if (word == "dense_resource") {
      return before.Error(
          "the values of this constant are not in the text (dense_resource): print it without eliding, "
          "or pass the array as an argument of the function");
    }
    cursor_ = before;
    return TypeAttribute();
  }

  Result<Attribute> Dense() {
    Attribute attribute;
    attribute.kind = Attribute::Kind::kDense;
    SBP_ASSIGN_OR_RETURN(const Cursor inside, cursor_.Balanced());
    attribute.begin = inside.offset();
    attribute.end = inside.offset() + inside.rest().size();
    SBP_RETURN_IF_ERROR(cursor_.Expect(":", "and the type of the values"));
    SBP_ASSIGN_OR_RETURN(attribute.type, ParseType(cursor_));
    return attribute;
  }

  // array<i64: 1, 2>, array<i1: false>, array<i64>
  Result<Attribute> Array() {
    Attribute attribute;
    attribute.kind = Attribute::Kind::kIntegers;
    SBP_ASSIGN_OR_RETURN(Cursor inside, cursor_.Balanced());
    inside.Word();
    if (!inside.Take(":")) return attribute;
    do {
      if (inside.Take("true")) {
        attribute.integers.push_back(1);
      } else if (inside.Take("false")) {
        attribute.integers.push_back(0);
      } else {
        SBP_ASSIGN_OR_RETURN(attribute.integers.emplace_back(), inside.Integer());
      }
    } while (inside.Take(","));
    if (!inside.AtEnd()) return inside.Unexpected("the end of the list");
    return attribute;
  }

  Cursor& cursor_;
  const Dictionary& aliases_;
};

}  // namespace

Result<Attribute> ParseAttribute(Cursor& cursor, const Dictionary& aliases, int depth) {
  return AttributeParser(cursor, aliases).Read(depth);
}

namespace {

Result<Location> LocationBody(Cursor& inside, int depth);

// "name", "name"(child), "file":1:2, "file":1:2 to :4, "file":1:2 to 3:4
Status NamedLocation(Cursor& inside, int depth, Location& location) {
  SBP_ASSIGN_OR_RETURN(std::string text, inside.String());
  if (inside.Take(":")) {
    location.file = std::move(text);
    SBP_ASSIGN_OR_RETURN(location.line, inside.Integer());
    while (!inside.AtEnd() && (inside.Take(":") || inside.Take("to"))) {
      if (inside.Peek() == ':') continue;
      SBP_RETURN_IF_ERROR(inside.Integer().status());
    }
    return OkStatus();
  }
  location.name = std::move(text);
  if (inside.Peek() != '(') return OkStatus();
  SBP_ASSIGN_OR_RETURN(Cursor child, inside.Balanced());
  SBP_ASSIGN_OR_RETURN(location.parts.emplace_back(), LocationBody(child, depth + 1));
  return OkStatus();
}

Result<Location> LocationBody(Cursor& inside, int depth) {
  Location location;
  if (depth > kMaxAttributeDepth) return inside.Error("locations are nested too deeply");
  if (inside.Take("#")) {
    location.alias = StrCat("#", inside.Word());
    return location;
  }
  if (inside.Peek() == '"') {
    SBP_RETURN_IF_ERROR(NamedLocation(inside, depth, location));
    return location;
  }
  const std::string_view word = inside.Word();
  if (word == "callsite") {
    SBP_ASSIGN_OR_RETURN(Cursor both, inside.Balanced());
    SBP_ASSIGN_OR_RETURN(location.parts.emplace_back(), LocationBody(both, depth + 1));
    SBP_RETURN_IF_ERROR(both.Expect("at", "between callee and caller"));
    SBP_ASSIGN_OR_RETURN(location.parts.emplace_back(), LocationBody(both, depth + 1));
  } else if (word == "fused") {
    if (inside.Peek() == '<') {
      SBP_RETURN_IF_ERROR(inside.Balanced().status());
    }
    SBP_ASSIGN_OR_RETURN(Cursor all, inside.Balanced());
    while (!all.AtEnd()) {
      SBP_ASSIGN_OR_RETURN(location.parts.emplace_back(), LocationBody(all, depth + 1));
      if (!all.Take(",")) break;
    }
  } else if (word != "unknown") {
    return inside.Unexpected("a location");
  }
  return location;
}

}  // namespace

Result<Location> ParseLocation(Cursor& cursor, int depth) {
  SBP_RETURN_IF_ERROR(cursor.Expect("loc", "and a location"));
  SBP_ASSIGN_OR_RETURN(Cursor inside, cursor.Balanced());
  return LocationBody(inside, depth);
}

}  // namespace sbp::stablehlo
