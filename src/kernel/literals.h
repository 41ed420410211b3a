// Literals, whose elements are 64 bits wide, and tensors in memory, whose elements are as their type stores them.
#pragma once

#include "base/status.h"
#include "graph/literal.h"
#include "kernel/view.h"

namespace sbp {

// Writes the literal's elements to `target`, which has its type. Errors: it holds no values of its type; strings.
Status FillView(const Literal& literal, const TensorView& target);

// The elements of a whole tensor of integers, bool or floats. Error: of other types.
Result<Literal> LiteralOf(const TensorView& view);

}  // namespace sbp
