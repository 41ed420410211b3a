// Small values of a file.
#pragma once

#include <string_view>

#include "graph/literal.h"
#include "graph/tensor_type.h"

namespace sbp::torch {

// The elements, little-endian; nullptr: more than kMaxLiteralElements, not `bytes` long, or complex, which is left in
// the file.
LiteralRef SmallConstant(const TensorType& type, std::string_view bytes);

}  // namespace sbp::torch
