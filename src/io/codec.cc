#include "io/codec.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "base/utf8.h"

namespace sbp {

Status Decode(std::string_view bytes, Encoding encoding, std::string_view where, google::protobuf::Message& message) {
  switch (encoding) {
    case Encoding::kJson:
      return DecodeJson(bytes, where, message);
    case Encoding::kPrototxt:
      return DecodePrototxt(bytes, where, message);
    case Encoding::kBinary:
      return DecodeBinary(bytes, where, message);
  }
  return Defect("no such encoding");
}

std::string Encode(const google::protobuf::Message& message, Encoding encoding) {
  switch (encoding) {
    case Encoding::kJson:
      return EncodeJson(message);
    case Encoding::kPrototxt:
      return EncodePrototxt(message);
    case Encoding::kBinary:
      return EncodeBinary(message);
  }
  return "";
}

std::string PlaceOf(std::string_view text, size_t offset, std::string_view where) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return StrCat(where, ":", line, ":", before.size() - line_start + 1);
}

Status JsonSyntaxError(std::string_view text, size_t offset, std::string_view what, std::string_view where) {
  // "[json.exception.parse_error.101] parse error at line 1, column 8: syntax error while parsing value - ...".
  constexpr size_t kMaxLength = 300;
  if (const size_t end = what.find("] "); what.starts_with('[') && end != std::string_view::npos) {
    what.remove_prefix(end + 2);
  }
  if (const size_t colon = what.find(": "); colon != std::string_view::npos) what.remove_prefix(colon + 2);
  const std::string_view more = what.size() > kMaxLength ? "..." : "";
  return BadInput(StrCat(PlaceOf(text, offset, where), ": not valid JSON: ", what.substr(0, kMaxLength), more));
}

std::string UnknownFieldMessage(const google::protobuf::Descriptor& descriptor, std::string_view name) {
  std::vector<std::string> known;
  for (int i = 0; i < descriptor.field_count(); ++i) known.push_back(descriptor.field(i)->name());
  std::string hint = DidYouMean(name, known);
  if (hint.empty()) hint = StrCat("; its fields: ", Join(known, ", "));
  return StrCat("unknown field ", Quote(CutAtCharacter(name, 80)), " of ", descriptor.name(), hint);
}

}  // namespace sbp
