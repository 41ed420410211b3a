// One protobuf message, three encodings. Protobuf headers stay inside src/io.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

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
// Empty where it would take more than 2147483647 bytes, which no reader takes.
std::string EncodeBinary(const google::protobuf::Message& message);

// "file:line:col" of a byte offset, both from 1; columns count bytes.
std::string PlaceOf(std::string_view text, size_t offset, std::string_view where);
// nlohmann's message about text that is not JSON, with our place and without theirs, cut to one screen.
Status JsonSyntaxError(std::string_view text, size_t offset, std::string_view what, std::string_view where);
// "unknown field "shap" of Tensor (did you mean "shape"?)".
std::string UnknownFieldMessage(const google::protobuf::Descriptor& descriptor, std::string_view name);

}  // namespace sbp
