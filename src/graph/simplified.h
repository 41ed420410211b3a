// What an op that stands for others of the model file says of them.
#pragma once

#include <string_view>

namespace sbp {

// Key of an op's metadata (simplify/): the names of those ops, in order, with ", " between.
inline constexpr std::string_view kSimplifiedFrom = "simplified_from";

}  // namespace sbp
