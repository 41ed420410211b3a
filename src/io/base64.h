// Base64 (RFC 4648, with padding): how bytes stand in JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sbp {

std::string Base64Encode(std::string_view bytes);
// Nothing when the text is not canonical base64.
std::optional<std::string> Base64Decode(std::string_view text);

}  // namespace sbp
