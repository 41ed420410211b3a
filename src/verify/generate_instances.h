// Op instances that nobody wrote: of an op's schema and rule, and variants of written ones.
#pragma once

#include <optional>
#include <vector>

#include "rule/syntax.h"
#include "verify/op_instance.h"

namespace sbp {

// For each overload whose rule is a notation: operands of even and of uneven sizes, with and without optional ones and
// with none and two dimensions for each `...`; for others operands of some usual shapes, all alike. Attributes take
// their defaults, and once each the other value of 0 or 1. Not every instance is one that the op takes.
std::vector<OpInstance> GenerateInstances(const OpDefinition& op);

// The instance with each size from 3 on one larger, so that even ones become uneven; nothing where its data have a
// given number of values. The op may not take it.
std::optional<OpInstance> Grown(const OpInstance& instance);

}  // namespace sbp
