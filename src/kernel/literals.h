// Literals, whose elements are 64 bits wide, and tensors in memory, whose elements are as their type stores them.
#pragma once

#include "base/status.h"
#include "graph/literal.h"
#include "kernel/view.h"

namespace sbp {

// Writes the literal's elements to `target`, which has room for them, as its type stores them. Errors: it does not hold
// so many values as its type says; strings.
Status WriteElements(const Literal& literal, std::byte* target);

// The elements of a whole tensor of integers, bool or floats. Error: of other types.
Result<Literal> LiteralOf(const TensorView& view);

}  // namespace sbp
