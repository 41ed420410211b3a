// Text in documents is UTF-8; names in model files may be any bytes.
#pragma once

#include <string>
#include <string_view>

namespace sbp {

bool IsUtf8(std::string_view bytes);
// The bytes themselves when they are UTF-8; else with each byte that is not escaped as \xNN.
std::string ToUtf8(std::string_view bytes);

}  // namespace sbp
