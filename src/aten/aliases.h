// Names that torch has for one op: which of them the table of rows has.
#pragma once

#include <string_view>

namespace sbp {

// "aten::subtract" -> "aten::sub"; a name that is no other's stays. Arguments are called the same in both.
std::string_view OwnNameOf(std::string_view op);

}  // namespace sbp
