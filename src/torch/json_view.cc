#include "torch/json_view.h"

#include "base/text.h"

namespace sbp::torch {
namespace {

Status Missing(std::string_view place, std::string_view name, std::string_view kind) {
  return BadInput(StrCat(place, " has no ", kind, " ", Quote(name)));
}

}  // namespace

const Json* Find(const Json& object, std::string_view name) {
  if (!object.is_object()) return nullptr;
  const auto it = object.find(name);
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

Result<const Json*> Member(const Json& object, std::string_view name, std::string_view place) {
  const Json* found = Find(object, name);
  if (found == nullptr) return Missing(place, name, "member");
  return found;
}

Result<const Json*> ObjectIn(const Json& object, std::string_view name, std::string_view place) {
  const Json* found = Find(object, name);
  if (found == nullptr || !found->is_object()) return Missing(place, name, "object");
  return found;
}

Result<const Json*> ListIn(const Json& object, std::string_view name, std::string_view place) {
  const Json* found = Find(object, name);
  if (found == nullptr || !found->is_array()) return Missing(place, name, "list");
  return found;
}

Result<std::string> TextIn(const Json& object, std::string_view name, std::string_view place) {
  const Json* found = Find(object, name);
  if (found == nullptr || !found->is_string()) return Missing(place, name, "text");
  return found->get<std::string>();
}

Result<int64_t> IntIn(const Json& object, std::string_view name, std::string_view place) {
  const Json* found = Find(object, name);
  if (found == nullptr || !found->is_number_integer()) return Missing(place, name, "integer");
  return found->get<int64_t>();
}

Result<Choice> ChoiceOf(const Json& value, std::string_view place) {
  if (!value.is_object()) return BadInput(StrCat(place, " is no object of one member"));
  Choice choice;
  for (const auto& [name, member] : value.items()) {
    if (member.is_null()) continue;
    if (choice.value != nullptr) return BadInput(StrCat(place, " is both ", Quote(choice.name), " and ", Quote(name)));
    choice = {name, &member};
  }
  if (choice.value == nullptr) return BadInput(StrCat(place, " is empty"));
  return choice;
}

}  // namespace sbp::torch
