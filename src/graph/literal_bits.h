// Elements of a literal from the bytes of a file.
#pragma once

#include <cstdint>
#include <string_view>

#include "graph/literal.h"

namespace sbp {

// Appends the element of out.type.dtype, no complex number or string, whose bit pattern is `pattern`.
void AppendElement(uint64_t pattern, Literal& out);

// All elements of out.type, static, from its num_bytes() little-endian bytes; narrow elements are packed, lowest bits
// first. Complex ones stay bytes (Literal::raw).
void AppendElements(std::string_view bytes, Literal& out);

}  // namespace sbp
