// Ops that compute each element of their result from the elements at its place alone.
#pragma once

#include <string_view>

namespace sbp::simplify {

bool IsElementwise(std::string_view type);

}  // namespace sbp::simplify
