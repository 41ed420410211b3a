// Overload resolution: which `op` paragraph takes these arguments, and what to say when none does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "rule/rule_set.h"
#include "rule/syntax.h"

namespace sbp {

// Which operands a parameter got: [first, first + count) of the query; none when absent or given by an attribute.
struct ParameterSlot {
  int first = -1;
  int count = 0;
};

struct Binding {
  const OpOverload* overload = nullptr;
  std::vector<ParameterSlot> parameters;        // one per parameter
  std::vector<ParameterSlot> results;           // one per declared result, positions in OpQuery::wanted
  std::vector<std::string> ignored_attributes;  // that no parameter has, sorted by name

  const ParameterSlot* FindOperand(std::string_view name) const;  // nullptr: no tensor or scalar parameter of this name
  const ParameterSlot* FindResult(std::string_view name) const;
};

// The first overload that takes the arguments. Attributes that no parameter has: an error where they look like a slip
// of the pen of one that the op does not give, or in a strict query; else ignored (names that start with '_' always
// are).
Result<Binding> ResolveOverload(const OpDefinition& definition, const OpQuery& query);

// The word of the rules language: "Tensor", "int[]".
std::string_view ParameterKindName(ParameterKind kind);

// Is `type` (a dtype, a group such as "float", or "" for any) met by dtype?
bool TypeMatches(std::string_view type, DType dtype);
bool IsTypeName(std::string_view type);
std::vector<std::string> TypeNames();

}  // namespace sbp
