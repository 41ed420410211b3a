// The protobuf wire format, walked without copying: to recognise a model, and to leave big payloads where they are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "graph/literal.h"

namespace sbp::onnx {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kGroupBegin = 3, kGroupEnd = 4, kFixed32 = 5 };

struct WireField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  size_t begin = 0;          // offset of the tag
  size_t end = 0;            // offset behind the field
  uint64_t varint = 0;       // kVarint
  std::string_view payload;  // kBytes
};

// Reads one message field by field; never reads beyond its bytes.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : bytes_(bytes) {}
  bool done() const { return position_ >= bytes_.size(); }
  // The next field, or nothing when the bytes are no wire format (groups count as that: ONNX has none).
  std::optional<WireField> Next();

 private:
  std::optional<uint64_t> Varint();

  std::string_view bytes_;
  size_t position_ = 0;
};

// A payload (raw_data, or a packed list) longer than this stays in the file. The narrowest elements have 2 bits: a
// shorter payload never holds more than kMaxLiteralElements of them, so every larger constant is known by its place in
// the file.
inline constexpr size_t kMaxCopiedPayload = kMaxLiteralElements / 4;

// The bytes of a Model in which every payload longer than kMaxCopiedPayload is replaced by Tensor.left_in_file; nothing
// when there is none (the common case: the model can be parsed as it is). Time and memory do not grow with the weights.
// Error: not wire format, nested too deeply.
Result<std::optional<std::string>> LeavePayloadsInFile(std::string_view model);

// A field of type varint, and one of type bytes, as it stands on the wire.
void AppendVarintField(uint32_t field, uint64_t value, std::string& out);
void AppendBytesField(uint32_t field, std::string_view payload, std::string& out);

}  // namespace sbp::onnx
