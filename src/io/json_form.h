// How a protobuf message looks in JSON. Two conventions make documents pleasant to write by hand; both follow from the
// shape of the message alone:
//  * keyed: a list of messages that have a string field `key` is an object, key -> the rest of the message;
//  * bare: a message with a field `value`, with one list `values`, or with a oneof may be its value alone. The type of
//    the JSON value picks the member: 1 an integer, 1.0 a floating number, "text" a string, [...] by its elements.
// Not finite numbers are the strings "inf", "-inf" and "nan"; bytes are base64.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sbp {

using FieldPtr = const google::protobuf::FieldDescriptor*;

// The form of one message type. Members are null where the type has none.
struct MessageForm {
  const google::protobuf::Descriptor* descriptor = nullptr;
  std::vector<FieldPtr> fields;  // in declaration order
  FieldPtr key = nullptr;
  // Members that a bare value may stand for.
  FieldPtr bare_int = nullptr;
  FieldPtr bare_float = nullptr;
  FieldPtr bare_string = nullptr;
  FieldPtr bare_ints = nullptr;  // messages with one list `values`
  FieldPtr bare_floats = nullptr;
  FieldPtr bare_strings = nullptr;
  bool is_union = false;      // the bare members belong to a oneof
  FieldPtr values = nullptr;  // the only field, a list of scalars
  bool has_messages = false;  // some field is a message

  FieldPtr Find(std::string_view name) const;
  size_t IndexOf(FieldPtr field) const { return static_cast<size_t>(field->index()); }
};

// Is `field` a list that is written as an object?
bool IsKeyedList(FieldPtr field);
bool IsMessage(FieldPtr field);

// The forms of the message types met so far. One per decoding or encoding; not thread-safe.
class MessageForms {
 public:
  const MessageForm& Of(const google::protobuf::Descriptor* descriptor);
  const MessageForm& Of(const google::protobuf::Message& message) { return Of(message.GetDescriptor()); }

 private:
  std::unordered_map<const google::protobuf::Descriptor*, std::unique_ptr<MessageForm>> forms_;
};

}  // namespace sbp
