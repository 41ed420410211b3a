// Members of JSON values by name and type; errors say where.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sbp::torch {

using Json = nlohmann::json;

// nullptr: there is none, or it is null.
const Json* Find(const Json& object, std::string_view name);
// Errors (kBadInput): "PLACE has no NAME", or it is of another kind.
Result<const Json*> Member(const Json& object, std::string_view name, std::string_view place);
Result<const Json*> ObjectIn(const Json& object, std::string_view name, std::string_view place);
Result<const Json*> ListIn(const Json& object, std::string_view name, std::string_view place);
Result<std::string> TextIn(const Json& object, std::string_view name, std::string_view place);
Result<int64_t> IntIn(const Json& object, std::string_view name, std::string_view place);

// The one member of a union, {"as_tensor": {...}}: its name and value. Error: not exactly one that is not null.
struct Choice {
  std::string name;
  const Json* value = nullptr;
};
Result<Choice> ChoiceOf(const Json& value, std::string_view place);

}  // namespace sbp::torch
