// Message <-> protobuf's binary format.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/unknown_field_set.h>
#include <google/protobuf/wire_format_lite.h>

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/text.h"
#include "io/codec.h"
#include "io/json_form.h"

namespace sbp {

namespace pb = google::protobuf;

namespace {

std::string Within(const std::string& outer, const std::string& inner) { return StrCat(outer, " > ", inner); }

}  // namespace

// Finds fields that our schemas do not have. Depth is bounded by the parser's limit.
class UnknownFields {
 public:
  // The path of the first one ("graph.ops[3]: field 17"), or "".
  std::string First(const pb::Message& message) {
    const pb::Reflection& reflection = *message.GetReflection();
    if (const pb::UnknownFieldSet& unknown = reflection.GetUnknownFields(message); !unknown.empty()) {
      return StrCat("unknown field number ", unknown.field(0).number(), " of ", message.GetDescriptor()->name());
    }
    const MessageForm& form = forms_.Of(message);
    if (!form.has_messages) return "";
    for (const FieldPtr field : form.fields) {
      if (!IsMessage(field)) continue;
      if (!field->is_repeated()) {
        if (!reflection.HasField(message, field)) continue;
        const std::string inner = First(reflection.GetMessage(message, field));
        if (!inner.empty()) return Within(field->name(), inner);
        continue;
      }
      const int size = reflection.FieldSize(message, field);
      for (int i = 0; i < size; ++i) {
        const std::string inner = First(reflection.GetRepeatedMessage(message, field, i));
        if (!inner.empty()) return Within(StrCat(field->name(), "[", i, "]"), inner);
      }
    }
    return "";
  }

 private:
  MessageForms forms_;
};

namespace {

constexpr size_t kMaxMessageBytes = std::numeric_limits<int32_t>::max();

Status Corrupt(const pb::Descriptor& message, size_t at, size_t size) {
  return BadInput(
      StrCat("truncated or corrupt: not a binary ", message.full_name(), " (stopped at byte ", at, " of ", size, ")"));
}

// Adds the fields in `bytes`. False: they are corrupt; `stopped_at` has moved by the bytes that were good.
bool Merge(std::string_view bytes, int depth, pb::Message& message, size_t& stopped_at) {
  const pb::LogSilencer silent;  // what it would print to stderr, our error says
  pb::io::ArrayInputStream array(bytes.data(), static_cast<int>(bytes.size()));
  pb::io::CodedInputStream input(&array);
  input.SetRecursionLimit(depth);
  const bool merged = message.MergeFromCodedStream(&input) && input.ConsumedEntireMessage();
  stopped_at += static_cast<size_t>(input.CurrentPosition());
  return merged;
}

}  // namespace

Status DecodeBinary(std::string_view bytes, std::string_view where, pb::Message& message) {
  if (bytes.size() > kMaxMessageBytes) {
    return BadInput(StrCat(where, ": ", bytes.size(), " bytes; a binary document may have at most 2147483647"));
  }
  size_t stopped_at = 0;
  if (!Merge(bytes, kMaxMessageDepth, message, stopped_at)) {
    return Corrupt(*message.GetDescriptor(), stopped_at, bytes.size()).WithContext(where);
  }
  if (const std::string unknown = UnknownFields().First(message); !unknown.empty()) {
    return BadInput(StrCat(where, ": ", unknown));
  }
  return OkStatus();
}

Result<BinaryEntries> BinaryEntries::Decode(std::string_view bytes, std::span<const int> fields, pb::Message& message) {
  using Wire = pb::internal::WireFormatLite;
  BinaryEntries document;
  document.bytes_ = bytes;
  document.message_ = message.GetDescriptor();
  for (const int field : fields) document.entries_[field];
  const auto corrupt = [&](size_t at) { return Corrupt(*document.message_, at, bytes.size()); };
  size_t others = 0;  // where fields begin that no one has parsed so far
  const auto merge_until = [&](size_t end) {
    size_t stopped_at = others;
    if (end - others > kMaxMessageBytes) return corrupt(others);
    if (end > others && !Merge(bytes.substr(others, end - others), kMaxMessageDepth, message, stopped_at)) {
      return corrupt(stopped_at);
    }
    return OkStatus();
  };
  size_t at = 0;
  while (at < bytes.size()) {
    const size_t begin = at;
    // A stream of its own for each field: one may have only 2^31 bytes.
    const std::string_view rest = bytes.substr(at, kMaxMessageBytes);
    pb::io::CodedInputStream input(reinterpret_cast<const uint8_t*>(rest.data()), static_cast<int>(rest.size()));
    const uint32_t tag = input.ReadTag();
    const auto entries = document.entries_.find(Wire::GetTagFieldNumber(tag));
    const bool is_entry =
        entries != document.entries_.end() && Wire::GetTagWireType(tag) == Wire::WIRETYPE_LENGTH_DELIMITED;
    if (!is_entry) {
      if (tag == 0 || !Wire::SkipField(&input, tag)) return corrupt(at + static_cast<size_t>(input.CurrentPosition()));
      at += static_cast<size_t>(input.CurrentPosition());
      if (at - others > kMaxMessageBytes / 2) {  // of a document of any size, what one message may have
        SBP_RETURN_IF_ERROR(merge_until(begin));
        others = begin;
      }
      continue;
    }
    uint32_t length = 0;
    const bool is_whole = input.ReadVarint32(&length);
    at += static_cast<size_t>(input.CurrentPosition());
    if (!is_whole || length > kMaxMessageBytes || length > bytes.size() - at) return corrupt(at);
    entries->second.emplace_back(at, length);
    SBP_RETURN_IF_ERROR(merge_until(begin));
    at += length;
    others = at;
  }
  SBP_RETURN_IF_ERROR(merge_until(at));
  document.unknown_ = std::make_shared<UnknownFields>();
  if (const std::string unknown = document.unknown_->First(message); !unknown.empty()) return BadInput(unknown);
  return document;
}

Status BinaryEntries::Read(int field, size_t index, pb::Message& entry) const {
  entry.Clear();
  const auto [begin, length] = entries_.at(field)[index];
  size_t stopped_at = begin;
  if (!Merge(bytes_.substr(begin, length), kMaxMessageDepth - 1, entry, stopped_at)) {
    return Corrupt(*message_, stopped_at, bytes_.size());
  }
  const std::string unknown = unknown_->First(entry);
  if (unknown.empty()) return OkStatus();
  return BadInput(Within(StrCat(message_->FindFieldByNumber(field)->name(), "[", index, "]"), unknown));
}

void AppendEntry(const pb::Message& entry, int field, std::string& bytes) {
  using Wire = pb::internal::WireFormatLite;
  const auto length = static_cast<uint32_t>(entry.ByteSizeLong());
  std::array<uint8_t, 16> head;  // tag and length, of at most 5 bytes each
  uint8_t* end =
      pb::io::CodedOutputStream::WriteTagToArray(Wire::MakeTag(field, Wire::WIRETYPE_LENGTH_DELIMITED), head.data());
  end = pb::io::CodedOutputStream::WriteVarint32ToArray(length, end);
  bytes.append(reinterpret_cast<const char*>(head.data()), static_cast<size_t>(end - head.data()));
  // No field of ours is a map, of which the order would have to be made the same each time.
  const size_t begin = bytes.size();
  bytes.resize(begin + length);
  entry.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(bytes.data() + begin));
}

std::string EncodeBinary(const pb::Message& message) {
  std::string bytes;
  if (message.ByteSizeLong() > kMaxMessageBytes) return bytes;
  bytes.reserve(message.ByteSizeLong());
  {
    pb::io::StringOutputStream array(&bytes);
    pb::io::CodedOutputStream output(&array);
    output.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&output);
  }
  return bytes;
}

}  // namespace sbp
