// Message <-> protobuf's binary format.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/unknown_field_set.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/text.h"
#include "io/codec.h"
#include "io/json_form.h"

namespace sbp {
namespace {

namespace pb = google::protobuf;

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
  static std::string Within(const std::string& outer, const std::string& inner) { return StrCat(outer, " > ", inner); }

  MessageForms forms_;
};

}  // namespace

Status DecodeBinary(std::string_view bytes, std::string_view where, pb::Message& message) {
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return BadInput(StrCat(where, ": ", bytes.size(), " bytes; a binary document may have at most 2147483647"));
  }
  const pb::LogSilencer silent;  // what it would print to stderr, our error says
  pb::io::ArrayInputStream array(bytes.data(), static_cast<int>(bytes.size()));
  pb::io::CodedInputStream input(&array);
  input.SetRecursionLimit(kMaxMessageDepth);
  if (!message.ParseFromCodedStream(&input) || !input.ConsumedEntireMessage()) {
    return BadInput(StrCat(where, ": truncated or corrupt: not a binary ", message.GetDescriptor()->full_name(),
                           " (stopped at byte ", input.CurrentPosition(), " of ", bytes.size(), ")"));
  }
  if (const std::string unknown = UnknownFields().First(message); !unknown.empty()) {
    return BadInput(StrCat(where, ": ", unknown));
  }
  return OkStatus();
}

std::string EncodeBinary(const pb::Message& message) {
  std::string bytes;
  if (message.ByteSizeLong() > std::numeric_limits<int32_t>::max()) return bytes;
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
