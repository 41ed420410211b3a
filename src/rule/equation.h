// Equations of Einsum and of its derivatives.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sbp {

// The equation that gives the cotangent of operand `operand` from that of the result and the other operands, in this
// order: of "ij,jk->ik", for operand 0, "ik,jk->ij". With `with_own` the operand's own letters stand behind the others
// once more, for a tensor of ones: what no other tensor has must come from somewhere. For each of RepeatedDims a unit
// matrix follows: of "ii->i" it is "i,ij->ij". Errors: the equation does not parse, has no such operand, or no letter
// is left.
Result<std::string> AdjointEquation(std::string_view equation, int64_t operand, bool with_own);

// The dimensions of the operand whose letters stand before in it (a diagonal); those behind "..." count from the end.
Result<std::vector<int64_t>> RepeatedDims(std::string_view equation, int64_t operand);

// Has the operand a letter that stands nowhere else, so that it alone is summed over?
Result<bool> HasLoneLetter(std::string_view equation, int64_t operand);

}  // namespace sbp
