// Texts of a function main, and what the reader makes of them.
#pragma once

#include <string>
#include <string_view>

namespace sbp {

// The dump of the graph of main with these arguments ("%x: tensor<4x6xf32>, ...") and ops, the first of which stands in
// line 4, or the error; the last op returns.
std::string ReadMain(std::string_view arguments, std::string_view ops);

}  // namespace sbp
