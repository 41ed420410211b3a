// Constant: whichever attribute states the value, as a parameter.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "decompose/expansion_builder.h"
#include "decompose/expansions.h"
#include "graph/graph.h"
#include "graph/literal.h"

namespace sbp {
namespace {

template <typename T>
const T* Get(const ExpansionBuilder& builder, std::string_view name) {
  const AttributeValue* value = builder.Attribute(name);
  return value == nullptr ? nullptr : std::get_if<T>(value);
}

Result<Literal> ValueOf(const ExpansionBuilder& builder) {
  for (const std::string_view name : {"value", "sparse_value"}) {
    const auto* literal = Get<LiteralRef>(builder, name);
    if (literal != nullptr && *literal != nullptr) return **literal;
  }
  if (const auto* i = Get<int64_t>(builder, "value_int")) return Literal::Scalar(*i);
  if (const auto* list = Get<std::vector<int64_t>>(builder, "value_ints")) return Literal::Ints(*list);
  if (builder.Attribute("value_float") != nullptr) return Literal::Float(builder.FloatAttribute("value_float"));
  Literal out;
  if (const auto* list = Get<std::vector<double>>(builder, "value_floats")) {
    out.type = {DType::kF32, {static_cast<int64_t>(list->size())}};
    out.floats = *list;
    return out;
  }
  if (const auto* text = Get<std::string>(builder, "value_string")) {
    out.type = {DType::kString, {}};
    out.strings = {*text};
    return out;
  }
  if (const auto* list = Get<std::vector<std::string>>(builder, "value_strings")) {
    out.type = {DType::kString, {static_cast<int64_t>(list->size())}};
    out.strings = *list;
    return out;
  }
  return BadInput("no attribute states the value");
}

}  // namespace

Status ExpandConstant(ExpansionBuilder& builder) {
  SBP_ASSIGN_OR_RETURN(Literal value, ValueOf(builder));
  builder.SetResult(0, builder.Constant(std::move(value)));
  return OkStatus();
}

}  // namespace sbp
