// Message -> JSON. Layout: the root, and messages reached from it through single fields only, have one field a line,
// and their lists of messages one element a line; everything deeper stands on its element's line. So a graph has one op
// a line, and stays greppable and diffable.
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "io/base64.h"
#include "io/codec.h"
#include "io/json_form.h"

namespace sbp {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

void AppendInt(int64_t value, std::string& out) {
  char buffer[24];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr);
}

// The shortest text that reads back as the same double. `pointed`: must not look like an integer.
void AppendDouble(double value, bool pointed, std::string& out) {
  if (std::isnan(value)) {
    out += "\"nan\"";
  } else if (std::isinf(value)) {
    out += value < 0 ? "\"-inf\"" : "\"inf\"";
  } else {
    char buffer[40];
    const char* end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
    const std::string_view text(buffer, static_cast<size_t>(end - buffer));
    out += text;
    const bool negative_zero = value == 0 && std::signbit(value);  // "-0" would read back as the integer 0
    if ((pointed || negative_zero) && text.find_first_of(".e") == std::string_view::npos) out += ".0";
  }
}

// The escape of a character that may not stand in a JSON string, or "".
std::string_view ShortEscape(char c) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    default:
      return "";
  }
}

bool NeedsEscape(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\' || c == 0x7f; }

void AppendString(std::string_view text, std::string& out) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  size_t begin = 0;  // of the run that needs no escape
  for (size_t i = 0; i < text.size(); ++i) {
    if (!NeedsEscape(text[i])) continue;
    out += text.substr(begin, i - begin);
    begin = i + 1;
    const std::string_view escape = ShortEscape(text[i]);
    out += escape;
    if (!escape.empty()) continue;
    const auto byte = static_cast<unsigned char>(text[i]);
    out += "\\u00";
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  out += text.substr(begin);
  out += '"';
}

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  // `indent` < 0: everything on one line.
  void WriteMessage(const Message& message, int indent) {
    const MessageForm& form = forms_.Of(message);
    if (form.values != nullptr) {
      WriteList(message, form.values, -1);
    } else if (const FieldPtr bare = BareMember(message, form); bare != nullptr) {
      WriteValue(message, bare, -1, form.is_union);
    } else {
      WriteObject(message, form, indent);
    }
  }

 private:
  // The member whose value alone says the whole message, or null.
  FieldPtr BareMember(const Message& message, const MessageForm& form) const {
    const Reflection& reflection = *message.GetReflection();
    if (form.is_union) {
      for (const FieldPtr field : {form.bare_int, form.bare_float, form.bare_string}) {
        if (field != nullptr && reflection.HasField(message, field)) {
          if (field != form.bare_float || std::isfinite(reflection.GetDouble(message, field))) return field;
        }
      }
      return BareList(message, form);
    }
    for (const FieldPtr bare : {form.bare_int, form.bare_float, form.bare_string}) {
      if (bare == nullptr) continue;
      for (const FieldPtr field : form.fields) {
        if (field != bare && field != form.key && IsSet(message, field)) return nullptr;
      }
      return bare;
    }
    return nullptr;
  }

  // Empty lists are bare only for integers, and floating numbers that are not finite need their member's name.
  static FieldPtr BareList(const Message& message, const MessageForm& form) {
    const Reflection& reflection = *message.GetReflection();
    for (const FieldPtr field : {form.bare_ints, form.bare_floats, form.bare_strings}) {
      if (field == nullptr || !reflection.HasField(message, field)) continue;
      if (field == form.bare_ints) return field;
      const Message& list = reflection.GetMessage(message, field);
      const FieldPtr values = list.GetDescriptor()->field(0);
      const int size = list.GetReflection()->FieldSize(list, values);
      if (size == 0) return nullptr;
      for (int i = 0; field == form.bare_floats && i < size; ++i) {
        if (!std::isfinite(list.GetReflection()->GetRepeatedDouble(list, values, i))) return nullptr;
      }
      return field;
    }
    return nullptr;
  }

  static bool IsSet(const Message& message, FieldPtr field) {
    const Reflection& reflection = *message.GetReflection();
    return field->is_repeated() ? reflection.FieldSize(message, field) > 0 : reflection.HasField(message, field);
  }

  void WriteObject(const Message& message, const MessageForm& form, int indent) {
    out_ += '{';
    bool first = true;
    for (const FieldPtr field : form.fields) {
      const bool always = field->name() == "value" && field->real_containing_oneof() == nullptr;
      if (field == form.key || (!always && !IsSet(message, field))) continue;
      if (!first) out_ += indent < 0 ? ", " : ",";
      NewLine(indent < 0 ? -1 : indent + 1);
      first = false;
      AppendString(field->name(), out_);
      out_ += ": ";
      if (field->is_repeated()) {
        WriteList(message, field, indent < 0 ? -1 : indent + 1);
      } else {
        WriteValue(message, field, indent < 0 ? -1 : indent + 1, false);
      }
    }
    if (!first) NewLine(indent);
    out_ += '}';
  }

  void WriteList(const Message& message, FieldPtr field, int indent) {
    const Reflection& reflection = *message.GetReflection();
    const bool keyed = IsKeyedList(field);
    const bool broken = indent >= 0 && IsMessage(field);
    const int size = reflection.FieldSize(message, field);
    out_ += keyed ? '{' : '[';
    for (int i = 0; i < size; ++i) {
      if (i > 0) out_ += broken ? "," : ", ";
      if (broken) NewLine(indent + 1);
      if (keyed) {
        const Message& entry = reflection.GetRepeatedMessage(message, field, i);
        std::string scratch;
        AppendString(entry.GetReflection()->GetStringReference(entry, forms_.Of(entry).key, &scratch), out_);
        out_ += ": ";
      }
      WriteElement(message, field, i);
    }
    if (broken && size > 0) NewLine(indent);
    out_ += keyed ? '}' : ']';
  }

  void WriteElement(const Message& message, FieldPtr field, int i) {
    const Reflection& reflection = *message.GetReflection();
    std::string scratch;
    switch (field->type()) {
      case FieldDescriptor::TYPE_MESSAGE:
        return WriteMessage(reflection.GetRepeatedMessage(message, field, i), -1);
      case FieldDescriptor::TYPE_INT64:
        return AppendInt(reflection.GetRepeatedInt64(message, field, i), out_);
      case FieldDescriptor::TYPE_DOUBLE:
        return AppendDouble(reflection.GetRepeatedDouble(message, field, i), true, out_);
      case FieldDescriptor::TYPE_BYTES:
        return AppendString(Base64Encode(reflection.GetRepeatedStringReference(message, field, i, &scratch)), out_);
      default:
        return AppendString(reflection.GetRepeatedStringReference(message, field, i, &scratch), out_);
    }
  }

  void WriteValue(const Message& message, FieldPtr field, int indent, bool pointed) {
    const Reflection& reflection = *message.GetReflection();
    std::string scratch;
    switch (field->type()) {
      case FieldDescriptor::TYPE_MESSAGE: {
        const Message& child = reflection.GetMessage(message, field);
        const bool broken = indent >= 0 && forms_.Of(child).has_messages;
        return WriteMessage(child, broken ? indent : -1);
      }
      case FieldDescriptor::TYPE_INT64:
        return AppendInt(reflection.GetInt64(message, field), out_);
      case FieldDescriptor::TYPE_UINT32:
        return AppendInt(reflection.GetUInt32(message, field), out_);
      case FieldDescriptor::TYPE_DOUBLE:
        return AppendDouble(reflection.GetDouble(message, field), pointed, out_);
      case FieldDescriptor::TYPE_BOOL:
        out_ += reflection.GetBool(message, field) ? "true" : "false";
        return;
      case FieldDescriptor::TYPE_BYTES:
        return AppendString(Base64Encode(reflection.GetStringReference(message, field, &scratch)), out_);
      default:
        return AppendString(reflection.GetStringReference(message, field, &scratch), out_);
    }
  }

  void NewLine(int indent) {
    if (indent < 0) return;
    out_ += '\n';
    out_.append(static_cast<size_t>(indent), ' ');
  }

  std::string& out_;
  MessageForms forms_;
};

}  // namespace

std::string EncodeJson(const Message& message) {
  std::string out;
  out.reserve(message.ByteSizeLong() * 2);  // field names and quotes about double what binary needs
  Writer(out).WriteMessage(message, 0);
  out += '\n';
  return out;
}

}  // namespace sbp
