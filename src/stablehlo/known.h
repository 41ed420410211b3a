// Numbers that are known while a text is read: counters of loops and what is made of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "graph/tensor_type.h"
#include "stablehlo/values.h"

namespace sbp::stablehlo {

// The number where it is one, of an integer type or bool.
std::optional<int64_t> KnownNumber(const Value& value);

// What "stablehlo.NAME" makes of scalars that are all known; null: they are not, or it is no op of whole numbers, or
// the result does not fit its type. `direction`: of a comparison.
ValueRef FoldKnown(std::string_view op, const std::vector<ValueRef>& operands, std::string_view direction,
                   const TensorType& result);

// The one element from `start` on, where the value's elements are known: a constant's, or counts.
std::optional<int64_t> KnownElement(const Value& value, const std::vector<int64_t>& start);

}  // namespace sbp::stablehlo
