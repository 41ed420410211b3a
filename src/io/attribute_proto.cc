#include "io/attribute_proto.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/text.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "io/graph_proto.h"
#include "io/utf8.h"

namespace sbp {
namespace {

namespace v1 = sbp_plan::v1;

bool AllUtf8(const std::vector<std::string>& strings) { return std::all_of(strings.begin(), strings.end(), IsUtf8); }

template <typename Values, typename Repeated>
void Append(const Values& values, Repeated& repeated) {
  repeated.Reserve(repeated.size() + static_cast<int>(values.size()));
  for (const auto& value : values) *repeated.Add() = value;
}

template <typename T, typename Repeated>
std::vector<T> ToVector(const Repeated& repeated) {
  return std::vector<T>(repeated.begin(), repeated.end());
}

// Sets the member of the oneof that holds a value.
struct ValueWriter {
  v1::Attribute& message;

  void operator()(int64_t value) const { message.set_int_(value); }
  void operator()(double value) const { message.set_float_(value); }
  void operator()(const std::string& value) const {
    IsUtf8(value) ? message.set_string(value) : message.set_bytes(value);
  }
  void operator()(const std::vector<int64_t>& values) const {
    Append(values, *message.mutable_ints()->mutable_values());
  }
  void operator()(const std::vector<double>& values) const {
    Append(values, *message.mutable_floats()->mutable_values());
  }
  void operator()(const std::vector<std::string>& values) const {
    if (AllUtf8(values)) {
      Append(values, *message.mutable_strings()->mutable_values());
    } else {
      Append(values, *message.mutable_byte_strings()->mutable_values());
    }
  }
  void operator()(const LiteralRef& value) const {
    v1::Literal& literal = *message.mutable_literal();
    if (value != nullptr) LiteralToMessage(*value, nullptr, literal);
  }
  void operator()(const std::shared_ptr<const Graph>& value) const {
    v1::Graph& graph = *message.mutable_graph();
    if (value != nullptr) GraphToMessage(*value, graph);
  }
};

Result<AttributeValue> ValueFromMessage(const v1::Attribute& message) {
  switch (message.value_case()) {
    case v1::Attribute::kInt:
      return AttributeValue(message.int_());
    case v1::Attribute::kFloat:
      return AttributeValue(message.float_());
    case v1::Attribute::kString:
      return AttributeValue(message.string());
    case v1::Attribute::kBytes:
      return AttributeValue(message.bytes());
    case v1::Attribute::kInts:
      return AttributeValue(ToVector<int64_t>(message.ints().values()));
    case v1::Attribute::kFloats:
      return AttributeValue(ToVector<double>(message.floats().values()));
    case v1::Attribute::kStrings:
      return AttributeValue(ToVector<std::string>(message.strings().values()));
    case v1::Attribute::kByteStrings:
      return AttributeValue(ToVector<std::string>(message.byte_strings().values()));
    case v1::Attribute::kLiteral: {
      SBP_ASSIGN_OR_RETURN(LiteralRef literal, LiteralFromMessage(message.literal(), nullptr));
      return AttributeValue(std::move(literal));
    }
    case v1::Attribute::kGraph: {
      SBP_ASSIGN_OR_RETURN(Graph graph, GraphFromMessage(message.graph(), ""));
      return AttributeValue(std::shared_ptr<const Graph>(std::make_shared<Graph>(std::move(graph))));
    }
    case v1::Attribute::VALUE_NOT_SET:
      break;
  }
  return BadInput("no value; expected one of int, float, string, bytes, ints, floats, strings, literal, graph");
}

// Texts say "nan" of every NaN; their bits stand beside them where they are others than those.
void AddNanBits(const std::vector<double>& floats, v1::Literal& message) {
  bool others = false;
  for (const double value : floats)
    others = others || (std::isnan(value) && !SameBits(value, std::numeric_limits<double>::quiet_NaN()));
  for (size_t i = 0; others && i < floats.size(); ++i) {
    if (std::isnan(floats[i])) message.add_nan_bits(std::bit_cast<int64_t>(floats[i]));
  }
}

Status TakeNanBits(const v1::Literal& message, std::vector<double>& floats) {
  if (message.nan_bits_size() == 0) return OkStatus();
  int next = 0;
  for (double& value : floats) {
    if (!std::isnan(value) || next >= message.nan_bits_size()) {
      next += std::isnan(value) ? 1 : 0;
      continue;
    }
    const auto bits = std::bit_cast<double>(static_cast<int64_t>(message.nan_bits(next++)));
    if (!std::isnan(bits)) return BadInput("\"nan_bits\" holds the bits of a number");
    value = bits;
  }
  if (next == message.nan_bits_size()) return OkStatus();
  return BadInput(
      StrCat("a literal with ", next, " NaNs: expected as many \"nan_bits\", found ", message.nan_bits_size()));
}

// One list, by element type, with one value per element.
Status CheckLiteral(const Literal& literal) {
  const TensorType& type = literal.type;
  if (type.kind != ValueKind::kTensor || !type.is_static()) {
    return BadInput(StrCat("a literal needs a tensor type of known sizes, found ", ToString(type)));
  }
  struct ListRow {
    std::string_view name;
    size_t size;
    bool wanted;
  };
  const ListRow lists[] = {{"ints", literal.ints.size(), literal.is_integral()},
                           {"floats", literal.floats.size(), IsFloat(type.dtype)},
                           {"strings", literal.strings.size(), type.dtype == DType::kString}};
  for (const ListRow& list : lists) {
    const int64_t expected = list.wanted ? type.num_elements() : 0;
    if (static_cast<int64_t>(list.size) == expected) continue;
    return BadInput(StrCat("literal of type ", ToString(type), ": expected ", expected, " values in ", Quote(list.name),
                           ", found ", list.size));
  }
  if (!literal.raw.empty() && !literal.sparse && static_cast<int64_t>(literal.raw.size()) != type.num_bytes()) {
    return BadInput(StrCat("literal of type ", ToString(type), ": expected ", type.num_bytes(),
                           " bytes in \"raw\", found ", literal.raw.size()));
  }
  return OkStatus();
}

}  // namespace

void LiteralToMessage(const Literal& literal, const TensorType* implied, v1::Literal& message) {
  if (implied == nullptr || *implied != literal.type) message.set_type(ToString(literal.type));
  Append(literal.ints, *message.mutable_ints());
  Append(literal.floats, *message.mutable_floats());
  if (AllUtf8(literal.strings)) {
    Append(literal.strings, *message.mutable_strings());
  } else {
    Append(literal.strings, *message.mutable_byte_strings());
  }
  AddNanBits(literal.floats, message);
  message.set_raw(literal.raw);
  message.set_sparse(literal.sparse);
}

Result<LiteralRef> LiteralFromMessage(const v1::Literal& message, const TensorType* implied) {
  auto literal = std::make_shared<Literal>();
  if (!message.type().empty()) {
    SBP_ASSIGN_OR_RETURN(literal->type, ParseTensorType(message.type()));
  } else if (implied != nullptr) {
    literal->type = *implied;
  } else {
    return BadInput("a literal without \"type\" (as in \"i64[3]\")");
  }
  literal->ints = ToVector<int64_t>(message.ints());
  literal->floats = ToVector<double>(message.floats());
  SBP_RETURN_IF_ERROR(TakeNanBits(message, literal->floats));
  literal->strings = ToVector<std::string>(message.strings());
  literal->strings.insert(literal->strings.end(), message.byte_strings().begin(), message.byte_strings().end());
  literal->raw = message.raw();
  literal->sparse = message.sparse();
  SBP_RETURN_IF_ERROR(CheckLiteral(*literal));
  return LiteralRef(std::move(literal));
}

void AttributesToMessages(const Attributes& attributes, google::protobuf::RepeatedPtrField<v1::Attribute>& messages) {
  for (const auto& [name, value] : attributes.entries()) {
    v1::Attribute& message = *messages.Add();
    message.set_key(ToUtf8(name));
    std::visit(ValueWriter{message}, value);
  }
}

Result<Attributes> AttributesFromMessages(const google::protobuf::RepeatedPtrField<v1::Attribute>& messages) {
  Attributes attributes;
  auto& entries = attributes.mutable_entries();
  entries.reserve(static_cast<size_t>(messages.size()));
  for (const v1::Attribute& message : messages) {
    Result<AttributeValue> value = ValueFromMessage(message);
    if (!value.ok()) return value.status().WithContext(StrCat("attribute ", Quote(message.key())));
    entries.emplace_back(message.key(), *std::move(value));
  }
  const auto by_name = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::stable_sort(entries.begin(), entries.end(), by_name);
  for (size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].first == entries[i - 1].first) {
      return BadInput(StrCat("attribute ", Quote(entries[i].first), " is given twice"));
    }
  }
  return attributes;
}

}  // namespace sbp
