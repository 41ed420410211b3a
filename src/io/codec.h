// One protobuf message, three encodings. Protobuf headers stay inside src/io.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "io/documents.h"

namespace sbp {

// Messages may nest this deep, in every encoding: about 60 subgraphs within each other, as many as ONNX files may have.
inline constexpr int kMaxMessageDepth = 200;

// Fills `message` (which must be empty) from a whole document. Errors (kBadInput) start with file:line:col in the text
// encodings and with the file in binary. Unknown fields are errors.
Status Decode(std::string_view bytes, Encoding encoding, std::string_view where, google::protobuf::Message& message);
// Equal messages give equal bytes. Strings must be UTF-8.
std::string Encode(const google::protobuf::Message& message, Encoding encoding);

// The three, one file each.
Status DecodeJson(std::string_view text, std::string_view where, google::protobuf::Message& message);
Status DecodePrototxt(std::string_view text, std::string_view where, google::protobuf::Message& message);
Status DecodeBinary(std::string_view bytes, std::string_view where, google::protobuf::Message& message);
std::string EncodeJson(const google::protobuf::Message& message);
std::string EncodePrototxt(const google::protobuf::Message& message);
// Empty where it would take more than 2147483647 bytes, which one message cannot.
std::string EncodeBinary(const google::protobuf::Message& message);

// Appends a message as one more entry of a repeated field of a binary document.
void AppendEntry(const google::protobuf::Message& entry, int field, std::string& bytes);

class UnknownFields;

// A binary document of which some repeated fields stay bytes until an entry is asked for: a graph of a million ops
// would take several times its memory as messages. It may be of any size. `bytes` must outlive it.
class BinaryEntries {
 public:
  // Fills `message` (empty before) with all other fields. Errors as DecodeBinary's, of the outermost message and of
  // those other fields.
  static Result<BinaryEntries> Decode(std::string_view bytes, std::span<const int> fields,
                                      google::protobuf::Message& message);

  size_t count(int field) const { return entries_.at(field).size(); }
  // Fills `entry` anew. Error: it is corrupt, or has unknown fields.
  Status Read(int field, size_t index, google::protobuf::Message& entry) const;

 private:
  std::string_view bytes_;
  const google::protobuf::Descriptor* message_ = nullptr;
  std::shared_ptr<UnknownFields> unknown_;                           // finds them; knows the messages that it has seen
  std::map<int, std::vector<std::pair<size_t, uint32_t>>> entries_;  // by field: where each begins, its length
};

// "file:line:col" of a byte offset, both from 1; columns count bytes.
std::string PlaceOf(std::string_view text, size_t offset, std::string_view where);
// nlohmann's message about text that is not JSON, with our place and without theirs, cut to one screen.
Status JsonSyntaxError(std::string_view text, size_t offset, std::string_view what, std::string_view where);
// "unknown field "shap" of Tensor (did you mean "shape"?)".
std::string UnknownFieldMessage(const google::protobuf::Descriptor& descriptor, std::string_view name);

}  // namespace sbp
