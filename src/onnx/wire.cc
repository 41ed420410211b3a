#include "onnx/wire.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "onnx/limits.h"
#include "onnx/reader.h"

namespace sbp {
namespace onnx {
namespace {

constexpr uint32_t kLeftInFileField = 536870911;  // Tensor.left_in_file

// Which fields of a message hold messages that can hold a tensor.
enum class Message : uint8_t { kModel, kTraining, kFunction, kGraph, kNode, kAttribute, kSparse, kTensor };
struct Child {
  Message parent;
  uint32_t field;
  Message message;
};
constexpr Child kChildren[] = {
    {Message::kModel, 7, Message::kGraph},         {Message::kModel, 20, Message::kTraining},
    {Message::kModel, 25, Message::kFunction},     {Message::kTraining, 1, Message::kGraph},
    {Message::kTraining, 2, Message::kGraph},      {Message::kFunction, 7, Message::kNode},
    {Message::kFunction, 11, Message::kAttribute}, {Message::kGraph, 1, Message::kNode},
    {Message::kGraph, 5, Message::kTensor},        {Message::kGraph, 15, Message::kSparse},
    {Message::kNode, 5, Message::kAttribute},      {Message::kAttribute, 5, Message::kTensor},
    {Message::kAttribute, 6, Message::kGraph},     {Message::kAttribute, 10, Message::kTensor},
    {Message::kAttribute, 11, Message::kGraph},    {Message::kAttribute, 22, Message::kSparse},
    {Message::kAttribute, 23, Message::kSparse},   {Message::kSparse, 1, Message::kTensor},
    {Message::kSparse, 2, Message::kTensor},
};

// float_data, int32_data, int64_data, raw_data, double_data, uint64_data.
constexpr std::array<uint32_t, 6> kPayloadFields = {4, 5, 7, 9, 10, 11};

const Child* FindChild(Message parent, uint32_t field) {
  for (const Child& child : kChildren) {
    if (child.parent == parent && child.field == field) return &child;
  }
  return nullptr;
}

void AppendVarint(uint64_t value, std::string& out) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

void AppendTag(uint32_t field, WireType type, std::string& out) {
  AppendVarint((static_cast<uint64_t>(field) << 3) | static_cast<uint64_t>(type), out);
}

// Appends message `bytes` to `out` without its big payloads. Recurses as deep as the messages nest, at most
// kMaxMessageDepth; a message too short to hold a big payload is copied unread.
class Shortener {
 public:
  explicit Shortener(std::string_view model) : model_(model) {}
  bool left_any() const { return left_any_; }

  Status Append(std::string_view bytes, Message kind, int depth, std::string& out) {
    if (depth > kMaxMessageDepth) return BadInput(StrCat("messages nest deeper than ", kMaxMessageDepth, " levels"));
    WireReader reader(bytes);
    size_t copied = 0;  // everything before this offset is in `out`
    while (!reader.done()) {
      std::optional<WireField> field = reader.Next();
      if (!field) return BadInput("not a protobuf message, or cut off");
      if (field->type != WireType::kBytes || field->payload.size() <= kMaxCopiedPayload) continue;
      const Child* child = FindChild(kind, field->number);
      const bool payload = kind == Message::kTensor && std::ranges::count(kPayloadFields, field->number) > 0;
      if (child == nullptr && !payload) continue;
      out.append(bytes.substr(copied, field->begin - copied));
      copied = field->end;
      if (payload) {
        AppendReference(*field, out);
        continue;
      }
      std::string shorter;
      SBP_RETURN_IF_ERROR(Append(field->payload, child->message, depth + 1, shorter));
      AppendBytesField(field->number, shorter, out);
    }
    out.append(bytes.substr(copied));
    return OkStatus();
  }

 private:
  void AppendReference(const WireField& field, std::string& out) {
    left_any_ = true;
    std::string reference;
    AppendTag(1, WireType::kVarint, reference);
    AppendVarint(field.number, reference);
    AppendTag(2, WireType::kVarint, reference);
    AppendVarint(static_cast<uint64_t>(field.payload.data() - model_.data()), reference);
    AppendTag(3, WireType::kVarint, reference);
    AppendVarint(field.payload.size(), reference);
    AppendBytesField(kLeftInFileField, reference, out);
  }

  std::string_view model_;
  bool left_any_ = false;
};

}  // namespace

void AppendVarintField(uint32_t field, uint64_t value, std::string& out) {
  AppendTag(field, WireType::kVarint, out);
  AppendVarint(value, out);
}

void AppendBytesField(uint32_t field, std::string_view payload, std::string& out) {
  AppendTag(field, WireType::kBytes, out);
  AppendVarint(payload.size(), out);
  out.append(payload);
}

std::optional<uint64_t> WireReader::Varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && position_ < bytes_.size(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes_[position_++]);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<WireField> WireReader::Next() {
  WireField field;
  field.begin = position_;
  const std::optional<uint64_t> tag = Varint();
  if (!tag || (*tag >> 3) == 0 || (*tag >> 3) > kLeftInFileField) return std::nullopt;
  field.number = static_cast<uint32_t>(*tag >> 3);
  field.type = static_cast<WireType>(*tag & 7);
  uint64_t length = 0;
  switch (field.type) {
    case WireType::kVarint: {
      const std::optional<uint64_t> value = Varint();
      if (!value) return std::nullopt;
      field.varint = *value;
      break;
    }
    case WireType::kFixed64:
      length = 8;
      break;
    case WireType::kFixed32:
      length = 4;
      break;
    case WireType::kBytes: {
      const std::optional<uint64_t> value = Varint();
      if (!value) return std::nullopt;
      length = *value;
      break;
    }
    default:
      return std::nullopt;
  }
  if (length > bytes_.size() - position_) return std::nullopt;
  field.payload = bytes_.substr(position_, length);
  position_ += length;
  field.end = position_;
  return field;
}

Result<std::optional<std::string>> LeavePayloadsInFile(std::string_view model) {
  if (model.size() <= kMaxCopiedPayload) return std::optional<std::string>();
  Shortener shortener(model);
  std::string shorter;
  SBP_RETURN_IF_ERROR(shortener.Append(model, Message::kModel, 0, shorter));
  if (!shortener.left_any()) return std::optional<std::string>();
  return std::optional<std::string>(std::move(shorter));
}

}  // namespace onnx

bool LooksLikeOnnx(std::string_view bytes) {
  // A ModelProto has the varint ir_version (1), a graph (7) that is itself wire format with nodes (1), names or values
  // only of type bytes, and operator sets (8). Our own documents begin with field 1 of type bytes.
  onnx::WireReader reader(bytes);
  bool has_version = false;
  bool has_graph = false;
  size_t position = 0;
  constexpr char kGraphTag = (7 << 3) | 2;
  while (!reader.done()) {
    const std::optional<onnx::WireField> field = reader.Next();
    // Cut off or corrupt in the graph or behind it: still meant as a model, whose reader says what is wrong.
    if (!field) return has_version && (has_graph || bytes[position] == kGraphTag);
    position = field->end;
    if (field->number == 1) {
      if (field->type != onnx::WireType::kVarint || field->varint > 1000) return false;
      has_version = true;
    }
    if (field->number == 7) {
      if (field->type != onnx::WireType::kBytes) return false;
      onnx::WireReader graph(field->payload);
      const std::optional<onnx::WireField> first = graph.Next();
      if (!graph.done() && (!first || first->type != onnx::WireType::kBytes)) return false;
      has_graph = true;
    }
  }
  return has_version && has_graph;
}

}  // namespace sbp
