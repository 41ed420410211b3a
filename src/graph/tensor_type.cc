#include "graph/tensor_type.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/checked_math.h"
#include "base/text.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

struct KindRow {
  ValueKind kind;
  std::string_view name;
};
constexpr KindRow kKinds[] = {
    {ValueKind::kSequence, "sequence"}, {ValueKind::kOptional, "optional"}, {ValueKind::kMap, "map"}};

Result<Shape> ParseDims(std::string_view dims, std::string_view whole) {
  Shape shape;
  if (Trim(dims).empty()) return shape;
  for (std::string_view part : Split(dims, ',')) {
    part = Trim(part);
    const auto size = part == "?" ? std::optional<int64_t>(kUnknownDim) : ParseInt(part);
    if (!size || (*size < 0 && part != "?")) {
      return BadInput(StrCat("type ", Quote(whole), ": ", Quote(part), " is no size of a dimension (a number or ?)"));
    }
    if (shape.size() == kMaxRank)
      return BadInput(StrCat("type ", Quote(whole), ": more than ", kMaxRank, " dimensions"));
    shape.push_back(*size);
  }
  return shape;
}

}  // namespace

bool TensorType::is_static() const {
  return has_rank && std::all_of(shape.begin(), shape.end(), [](int64_t size) { return size >= 0; });
}

int64_t TensorType::num_elements() const {
  if (!is_static()) return 0;
  int64_t count = 1;
  for (int64_t size : shape) count = SaturatingMul(count, size);
  return count;
}

int64_t TensorType::num_bytes() const { return BytesOf(dtype, num_elements()); }

int64_t BytesOf(DType dtype, int64_t elements) {
  const int bits = DTypeBits(dtype);
  if (bits == 0) return 0;
  return bits >= 8 ? SaturatingMul(elements, bits / 8) : CeilDiv(elements, 8 / bits);
}

std::string ToString(const TensorType& type) {
  std::string text(DTypeName(type.dtype));
  if (type.has_rank) {
    text += '[';
    for (size_t i = 0; i < type.shape.size(); ++i) {
      if (i > 0) text += ',';
      text += type.shape[i] < 0 ? "?" : std::to_string(type.shape[i]);
    }
    text += ']';
  } else {
    text += "[...]";
  }
  for (const KindRow& row : kKinds) {
    if (row.kind == type.kind) return std::string(row.name) + "(" + text + ")";
  }
  return text;
}

Result<TensorType> ParseTensorType(std::string_view text) {
  const std::string_view whole = Trim(text);
  text = whole;
  TensorType type;
  for (const KindRow& row : kKinds) {
    if (text.starts_with(row.name) && text.substr(row.name.size()).starts_with('(') && text.ends_with(')')) {
      type.kind = row.kind;
      text = Trim(text.substr(row.name.size() + 1, text.size() - row.name.size() - 2));
      break;
    }
  }
  const size_t bracket = text.find('[');
  if (bracket == std::string_view::npos || !text.ends_with(']')) {
    return BadInput(StrCat("type ", Quote(whole), ": expected an element type and sizes, as in f32[16,32]",
                           whole.find('[') == std::string_view::npos ? " (f32[] for a single number)" : ""));
  }
  const std::string name(Trim(text.substr(0, bracket)));
  const auto dtype = ParseDType(name);
  if (!dtype) {
    return BadInput(
        StrCat("type ", Quote(whole), ": ", Quote(name), " is no element type", DidYouMean(name, DTypeNames())));
  }
  type.dtype = *dtype;
  const std::string_view dims = text.substr(bracket + 1, text.size() - bracket - 2);
  if (Trim(dims) == "...") {
    type.has_rank = false;
    return type;
  }
  SBP_ASSIGN_OR_RETURN(type.shape, ParseDims(dims, whole));
  return type;
}

}  // namespace sbp
