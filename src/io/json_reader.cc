// JSON -> message, straight from nlohmann's SAX events into the message by reflection: no document tree, so a graph of
// a million ops needs no memory beyond its message. The form is json_form.h's.
#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "base/utf8.h"
#include "io/base64.h"
#include "io/codec.h"
#include "io/json_form.h"

namespace sbp {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Walks the text and tells how far it has come, for the places of errors.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  Cursor operator++(int) {
    Cursor old = *this;
    ++*this;
    return old;
  }
  friend bool operator==(const Cursor& a, const Cursor& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  const char** reached_;
};

// A JSON scalar.
struct Scalar {
  enum class Type { kNull, kBool, kInt, kUnsigned, kFloat, kString };
  Type type = Type::kNull;
  bool boolean = false;
  int64_t integer = 0;
  uint64_t natural = 0;  // kUnsigned: an integer >= 0
  double number = 0;
  std::string* string = nullptr;

  bool is_integer() const { return type == Type::kInt || type == Type::kUnsigned; }
  // As int64, when it fits.
  std::optional<int64_t> AsInt() const {
    if (type == Type::kInt) return integer;
    if (type == Type::kUnsigned && natural <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return static_cast<int64_t>(natural);
    }
    return std::nullopt;
  }
  // As double: numbers, and the names of those that are not finite.
  std::optional<double> AsDouble() const {
    switch (type) {
      case Type::kInt:
        return static_cast<double>(integer);
      case Type::kUnsigned:
        return static_cast<double>(natural);
      case Type::kFloat:
        return number;
      case Type::kString:
        if (*string == "inf") return std::numeric_limits<double>::infinity();
        if (*string == "-inf") return -std::numeric_limits<double>::infinity();
        if (*string == "nan") return std::numeric_limits<double>::quiet_NaN();
        return std::nullopt;
      default:
        return std::nullopt;
    }
  }
};

std::string Describe(const Scalar& value) {
  switch (value.type) {
    case Scalar::Type::kNull:
      return "null";
    case Scalar::Type::kBool:
      return value.boolean ? "true" : "false";
    case Scalar::Type::kInt:
      return StrCat(value.integer);
    case Scalar::Type::kUnsigned:
      return StrCat(value.natural);
    case Scalar::Type::kFloat:
      return FormatDouble(value.number);
    case Scalar::Type::kString:
      return StrCat("the text ", Quote(CutAtCharacter(*value.string, 60)));
  }
  return "";
}

// What a single value of a field must be.
std::string ExpectedElement(FieldPtr field) {
  switch (field->type()) {
    case FieldDescriptor::TYPE_INT64:
      return "an integer";
    case FieldDescriptor::TYPE_UINT32:
      return "an integer from 0 to 4294967295";
    case FieldDescriptor::TYPE_DOUBLE:
      return "a number";
    case FieldDescriptor::TYPE_BOOL:
      return "true or false";
    case FieldDescriptor::TYPE_BYTES:
      return "base64 text";
    case FieldDescriptor::TYPE_STRING:
      return "text";
    default:
      return StrCat("an object (", field->message_type()->name(), ")");
  }
}

std::string Expected(FieldPtr field) {
  if (IsKeyedList(field)) return StrCat("an object of ", field->message_type()->name(), " by key");
  if (field->is_repeated()) return StrCat("a list, each element ", ExpectedElement(field));
  return ExpectedElement(field);
}

// Sets `field` of `message` (adds to it, when it is a list) if the scalar is of its type.
bool StoreScalar(Message& message, FieldPtr field, Scalar& value) {
  const Reflection& reflection = *message.GetReflection();
  const bool add = field->is_repeated();
  switch (field->type()) {
    case FieldDescriptor::TYPE_INT64: {
      const std::optional<int64_t> integer = value.AsInt();
      if (!integer) return false;
      add ? reflection.AddInt64(&message, field, *integer) : reflection.SetInt64(&message, field, *integer);
      return true;
    }
    case FieldDescriptor::TYPE_UINT32: {
      const std::optional<int64_t> integer = value.AsInt();
      if (!integer || *integer < 0 || *integer > std::numeric_limits<uint32_t>::max()) return false;
      const auto natural = static_cast<uint32_t>(*integer);
      add ? reflection.AddUInt32(&message, field, natural) : reflection.SetUInt32(&message, field, natural);
      return true;
    }
    case FieldDescriptor::TYPE_DOUBLE: {
      const std::optional<double> number = value.AsDouble();
      if (!number) return false;
      add ? reflection.AddDouble(&message, field, *number) : reflection.SetDouble(&message, field, *number);
      return true;
    }
    case FieldDescriptor::TYPE_BOOL:
      if (value.type != Scalar::Type::kBool) return false;
      reflection.SetBool(&message, field, value.boolean);
      return true;
    case FieldDescriptor::TYPE_STRING:
      if (value.type != Scalar::Type::kString) return false;
      add ? reflection.AddString(&message, field, *value.string) : reflection.SetString(&message, field, *value.string);
      return true;
    case FieldDescriptor::TYPE_BYTES: {
      if (value.type != Scalar::Type::kString) return false;
      std::optional<std::string> bytes = Base64Decode(*value.string);
      if (!bytes) return false;
      add ? reflection.AddString(&message, field, *std::move(bytes))
          : reflection.SetString(&message, field, *std::move(bytes));
      return true;
    }
    default:
      return false;
  }
}

// The member of a message that a bare scalar stands for, or null.
FieldPtr BareScalarMember(const MessageForm& form, const Scalar& value) {
  if (value.is_integer()) return form.bare_int != nullptr ? form.bare_int : form.bare_float;
  if (value.type == Scalar::Type::kFloat) return form.bare_float;
  if (value.type == Scalar::Type::kString) {
    // "inf" for a message that holds a number and no text.
    if (form.bare_string == nullptr && !form.is_union && value.AsDouble()) return form.bare_float;
    return form.bare_string;
  }
  return nullptr;
}

// The list member of a message whose bare list starts with `first`, or null.
FieldPtr BareListMember(const MessageForm& form, const Scalar& first) {
  if (first.is_integer()) return form.bare_ints;
  if (first.type == Scalar::Type::kFloat) return form.bare_floats;
  if (first.type == Scalar::Type::kString) return form.bare_strings;
  return nullptr;
}

// An object or list that is open.
struct Frame {
  enum class Kind {
    kMessage,   // an object: `field` is the one whose value comes next
    kKeyed,     // an object of entries of the keyed list `field`; `entry` is the one whose value comes next
    kList,      // the elements of `field`
    kBareList,  // a list that stands for a member of `message`, known with its first element
  };
  Kind kind = Kind::kMessage;
  Message* message = nullptr;
  FieldPtr field = nullptr;
  Message* entry = nullptr;
  Message* owner = nullptr;  // kList made from kBareList: the message with the union
  uint64_t seen = 0;         // kMessage: bit per field index
};

class Reader {
 public:
  Reader(std::string_view text, std::string_view where, Message& root)
      : text_(text), where_(where), root_(root), reached_(text.data()), token_end_(text.data()) {}

  Status Read() {
    const char* end = text_.data() + text_.size();
    const bool good = nlohmann::json::sax_parse(Cursor(text_.data(), &reached_), Cursor(end, &reached_), this);
    if (good && error_.ok()) return OkStatus();
    return error_.ok() ? Defect("JSON reader stopped without a reason") : error_;
  }

  // nlohmann's SAX interface.
  bool null() {
    Scalar value;
    return OnScalar(value);
  }
  bool boolean(bool boolean) {
    Scalar value{.type = Scalar::Type::kBool, .boolean = boolean};
    return OnScalar(value);
  }
  bool number_integer(int64_t integer) {
    Scalar value{.type = Scalar::Type::kInt, .integer = integer};
    return OnScalar(value);
  }
  bool number_unsigned(uint64_t natural) {
    Scalar value{.type = Scalar::Type::kUnsigned, .natural = natural};
    return OnScalar(value);
  }
  bool number_float(double number, const std::string& /*text*/) {
    Scalar value{.type = Scalar::Type::kFloat, .number = number};
    return OnScalar(value);
  }
  bool string(std::string& string) {
    Scalar value{.type = Scalar::Type::kString, .string = &string};
    return OnScalar(value);
  }
  bool binary(nlohmann::json::binary_t& /*bytes*/) { return Fail("binary values are not JSON"); }

  bool start_object(size_t /*elements*/) { return Done(OpenObject()); }
  bool key(std::string& name) { return Done(OnKey(name)); }
  bool end_object() { return Done(Close()); }
  bool start_array(size_t /*elements*/) { return Done(OpenList()); }
  bool end_array() { return Done(Close()); }

  bool parse_error(size_t /*position*/, const std::string& /*token*/, const nlohmann::detail::exception& error) {
    const auto offset = static_cast<size_t>(reached_ - text_.data());
    error_ = JsonSyntaxError(text_, offset == 0 ? 0 : offset - 1, error.what(), where_);
    return false;
  }

 private:
  bool Done(bool good) {
    token_end_ = reached_;
    return good;
  }

  // An error at the token that is being handled: the first one after the end of the token before it.
  bool Fail(std::string_view message) {
    size_t offset = static_cast<size_t>(token_end_ - text_.data());
    while (offset < text_.size() && std::string_view(" \t\r\n,:").find(text_[offset]) != std::string_view::npos)
      ++offset;
    error_ = BadInput(StrCat(PlaceOf(text_, offset, where_), ": ", message));
    return false;
  }
  bool FailExpected(const std::string& expected, std::string_view found) {
    const Frame* top = frames_.empty() ? nullptr : &frames_.back();
    const std::string name = top == nullptr || top->field == nullptr ? "" : StrCat(" for ", Quote(top->field->name()));
    return Fail(StrCat("expected ", expected, name, ", found ", found));
  }

  bool OnScalar(Scalar& value) {
    if (frames_.empty()) return Fail(StrCat("expected an object (", Name(root_), "), found ", Describe(value)));
    return Done(StoreValue(value));
  }

  bool StoreValue(Scalar& value) {
    Frame& top = frames_.back();
    switch (top.kind) {
      case Frame::Kind::kKeyed:
        return StoreBare(*top.entry, value);
      case Frame::Kind::kBareList:
        return StoreFirst(top, value);
      case Frame::Kind::kMessage:
        if (top.field->is_repeated()) return FailExpected(Expected(top.field), Describe(value));
        break;
      case Frame::Kind::kList:
        break;
    }
    const Reflection& reflection = *top.message->GetReflection();
    if (IsMessage(top.field)) {
      return StoreBare(top.field->is_repeated() ? *reflection.AddMessage(top.message, top.field)
                                                : *reflection.MutableMessage(top.message, top.field),
                       value);
    }
    if (StoreScalar(*top.message, top.field, value)) return true;
    if (top.owner != nullptr && value.type == Scalar::Type::kFloat && PromoteToFloats(top)) {
      return StoreScalar(*top.message, top.field, value);
    }
    return FailExpected(ExpectedElement(top.field), Describe(value));
  }

  bool StoreBare(Message& message, Scalar& value) {
    const FieldPtr member = BareScalarMember(forms_.Of(message), value);
    if (member != nullptr && StoreScalar(message, member, value)) return true;
    return FailExpected(StrCat("a value of ", Name(message)), Describe(value));
  }

  // The first element of a bare list decides which member it is.
  bool StoreFirst(Frame& top, Scalar& value) {
    const FieldPtr member = BareListMember(forms_.Of(*top.message), value);
    if (member == nullptr)
      return FailExpected("a list of integers, numbers or text", StrCat("one with ", Describe(value)));
    OpenMember(top, member);
    return StoreValue(value);
  }

  static void OpenMember(Frame& top, FieldPtr member) {
    Message* list = top.message->GetReflection()->MutableMessage(top.message, member);
    top = Frame{
        .kind = Frame::Kind::kList, .message = list, .field = list->GetDescriptor()->field(0), .owner = top.message};
  }

  // [1, 2.5]: a list that started with integers goes on with floating numbers.
  bool PromoteToFloats(Frame& top) {
    const MessageForm& form = forms_.Of(*top.owner);
    if (form.bare_floats == nullptr || top.field->type() != FieldDescriptor::TYPE_INT64) return false;
    std::vector<int64_t> ints;
    const int size = top.message->GetReflection()->FieldSize(*top.message, top.field);
    for (int i = 0; i < size; ++i) {
      ints.push_back(top.message->GetReflection()->GetRepeatedInt64(*top.message, top.field, i));
    }
    top.message = top.owner;
    OpenMember(top, form.bare_floats);
    for (const int64_t value : ints) {
      top.message->GetReflection()->AddDouble(top.message, top.field, static_cast<double>(value));
    }
    return true;
  }

  bool OpenObject() {
    if (frames_.empty()) return Push({.kind = Frame::Kind::kMessage, .message = &root_});
    Frame& top = frames_.back();
    const Reflection& reflection = *top.message->GetReflection();
    switch (top.kind) {
      case Frame::Kind::kKeyed:
        return Push({.kind = Frame::Kind::kMessage, .message = top.entry});
      case Frame::Kind::kBareList:
        return FailExpected("a list of integers, numbers or text", "one of objects");
      case Frame::Kind::kList:
        if (!IsMessage(top.field)) return FailExpected(ExpectedElement(top.field), "an object");
        return Push({.kind = Frame::Kind::kMessage, .message = reflection.AddMessage(top.message, top.field)});
      case Frame::Kind::kMessage:
        break;
    }
    if (IsKeyedList(top.field)) {
      return Push({.kind = Frame::Kind::kKeyed, .message = top.message, .field = top.field});
    }
    if (top.field->is_repeated() || !IsMessage(top.field)) return FailExpected(Expected(top.field), "an object");
    return Push({.kind = Frame::Kind::kMessage, .message = reflection.MutableMessage(top.message, top.field)});
  }

  bool OpenList() {
    if (frames_.empty()) return Fail(StrCat("expected an object (", Name(root_), "), found a list"));
    Frame& top = frames_.back();
    if (top.kind == Frame::Kind::kKeyed) return OpenBareList(*top.entry);
    if (top.kind != Frame::Kind::kMessage) return FailExpected("no list within a list", "one");
    if (IsKeyedList(top.field)) return FailExpected(Expected(top.field), "a list");
    if (top.field->is_repeated()) {
      return Push({.kind = Frame::Kind::kList, .message = top.message, .field = top.field});
    }
    if (!IsMessage(top.field)) return FailExpected(Expected(top.field), "a list");
    return OpenBareList(*top.message->GetReflection()->MutableMessage(top.message, top.field));
  }

  bool OpenBareList(Message& message) {
    const MessageForm& form = forms_.Of(message);
    if (form.values != nullptr) return Push({.kind = Frame::Kind::kList, .message = &message, .field = form.values});
    if (form.bare_ints != nullptr) return Push({.kind = Frame::Kind::kBareList, .message = &message});
    return FailExpected(StrCat("an object (", Name(message), ")"), "a list");
  }

  bool OnKey(std::string& name) {
    Frame& top = frames_.back();
    if (top.kind == Frame::Kind::kKeyed) return AddEntry(top, name);
    const MessageForm& form = forms_.Of(*top.message);
    top.field = form.Find(name);
    if (top.field == nullptr || top.field == form.key) {
      return Fail(UnknownFieldMessage(*form.descriptor, name));
    }
    const uint64_t bit = uint64_t{1} << form.IndexOf(top.field);
    if ((top.seen & bit) != 0) return Fail(StrCat("field ", Quote(name), " is given twice"));
    top.seen |= bit;
    if (const auto* oneof = top.field->real_containing_oneof(); oneof != nullptr) {
      const FieldPtr other = top.message->GetReflection()->GetOneofFieldDescriptor(*top.message, oneof);
      if (other != nullptr) return Fail(StrCat("both ", Quote(other->name()), " and ", Quote(name), " are given"));
    }
    return true;
  }

  bool AddEntry(Frame& top, std::string& name) {
    const Reflection& reflection = *top.message->GetReflection();
    // Here the place of the second one is at hand; longer objects are looked at when they end.
    const int size = reflection.FieldSize(*top.message, top.field);
    for (int i = 0; size <= kFewKeys && i < size; ++i) {
      if (KeyOf(top, i) == name) return Fail(StrCat("key ", Quote(name), " is given twice"));
    }
    top.entry = reflection.AddMessage(top.message, top.field);
    top.entry->GetReflection()->SetString(top.entry, forms_.Of(*top.entry).key, name);
    return true;
  }

  std::string KeyOf(const Frame& keyed, int i) {
    const Message& entry = keyed.message->GetReflection()->GetRepeatedMessage(*keyed.message, keyed.field, i);
    return entry.GetReflection()->GetString(entry, forms_.Of(entry).key);
  }

  bool Push(Frame frame) {
    const bool message = frame.kind == Frame::Kind::kMessage;
    if (message && ++depth_ > kMaxMessageDepth)
      return Fail(StrCat("nested deeper than ", kMaxMessageDepth, " objects"));
    frames_.push_back(frame);
    return true;
  }

  bool Close() {
    Frame top = frames_.back();
    if (top.kind == Frame::Kind::kBareList) {  // []: of integers
      top.message->GetReflection()->MutableMessage(top.message, forms_.Of(*top.message).bare_ints);
    }
    if (top.kind == Frame::Kind::kMessage) --depth_;
    if (top.kind == Frame::Kind::kKeyed) {
      const int size = top.message->GetReflection()->FieldSize(*top.message, top.field);
      if (size > kFewKeys && !CheckKeys(top, size)) return false;
    }
    frames_.pop_back();
    return true;
  }

  bool CheckKeys(const Frame& keyed, int size) {
    std::vector<std::string> keys;
    for (int i = 0; i < size; ++i) keys.push_back(KeyOf(keyed, i));
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice == keys.end()) return true;
    return Fail(StrCat("key ", Quote(*twice), " is given twice in the object that ends here"));
  }

  static const std::string& Name(const Message& message) { return message.GetDescriptor()->name(); }

  static constexpr int kFewKeys = 16;

  std::string_view text_;
  std::string_view where_;
  Message& root_;
  const char* reached_;    // what the lexer has read
  const char* token_end_;  // where the token before the present one ended (or a character behind)
  std::vector<Frame> frames_;
  int depth_ = 0;
  MessageForms forms_;
  Status error_;
};

}  // namespace

Status DecodeJson(std::string_view text, std::string_view where, Message& message) {
  return Reader(text, where, message).Read();
}

}  // namespace sbp
