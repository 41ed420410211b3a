// Text in UTF-8, by bytes: where it may be cut.
#pragma once

#include <cstddef>
#include <string_view>

namespace sbp {

// The first bytes of a text, at most `most`, without a part of a character at their end. What is no UTF-8 is cut there.
std::string_view CutAtCharacter(std::string_view text, size_t most);

}  // namespace sbp
