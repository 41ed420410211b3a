// Equations of Einsum and of its derivatives.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sbp {

// The equation that gives the cotangent of operand `operand` from that of the result and the other operands, in this
// order: of "ij,jk->ik", for operand 0, "ik,jk->ij". With `with_own` the operand's own letters stand behind the others
// once more, for a tensor of ones: what no other tensor has must come from somewhere. Errors: the equation does not
// parse, has no such operand, or repeats a letter in it (a diagonal).
Result<std::string> AdjointEquation(std::string_view equation, int64_t operand, bool with_own);

// Has the operand a letter that stands nowhere else, so that it alone is summed over?
Result<bool> HasLoneLetter(std::string_view equation, int64_t operand);

}  // namespace sbp
