#include "io/json_form.h"

namespace sbp {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// The list `values`, when it is the only field of a message.
FieldPtr OnlyValues(const Descriptor* descriptor) {
  if (descriptor->field_count() != 1) return nullptr;
  const FieldPtr field = descriptor->field(0);
  return field->is_repeated() && field->name() == "values" ? field : nullptr;
}

void SetBareMember(FieldPtr field, MessageForm& form) {
  if (field->is_repeated()) return;
  switch (field->type()) {
    case FieldDescriptor::TYPE_INT64:
      form.bare_int = field;
      return;
    case FieldDescriptor::TYPE_DOUBLE:
      form.bare_float = field;
      return;
    case FieldDescriptor::TYPE_STRING:
      form.bare_string = field;
      return;
    case FieldDescriptor::TYPE_MESSAGE:
      break;
    default:
      return;
  }
  const FieldPtr values = OnlyValues(field->message_type());
  if (values == nullptr) return;
  if (values->type() == FieldDescriptor::TYPE_INT64) form.bare_ints = field;
  if (values->type() == FieldDescriptor::TYPE_DOUBLE) form.bare_floats = field;
  if (values->type() == FieldDescriptor::TYPE_STRING) form.bare_strings = field;
}

}  // namespace

FieldPtr MessageForm::Find(std::string_view name) const {
  for (const FieldPtr field : fields) {
    if (field->name() == name) return field;
  }
  return nullptr;
}

bool IsMessage(FieldPtr field) { return field->type() == FieldDescriptor::TYPE_MESSAGE; }

bool IsKeyedList(FieldPtr field) {
  return field->is_repeated() && IsMessage(field) && field->message_type()->field(0)->name() == "key";
}

const MessageForm& MessageForms::Of(const Descriptor* descriptor) {
  std::unique_ptr<MessageForm>& slot = forms_[descriptor];
  if (slot != nullptr) return *slot;
  slot = std::make_unique<MessageForm>();
  MessageForm& form = *slot;
  form.descriptor = descriptor;
  form.values = OnlyValues(descriptor);
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldPtr field = descriptor->field(i);
    form.fields.push_back(field);
    form.has_messages |= IsMessage(field);
    if (field->name() == "key") form.key = field;
    if (field->name() == "value") SetBareMember(field, form);
    if (field->real_containing_oneof() != nullptr) {
      form.is_union = true;
      SetBareMember(field, form);
    }
  }
  return form;
}

}  // namespace sbp
