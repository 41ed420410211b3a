// Who knows the secret of a run: HMAC (RFC 2104) with SHA-256 (FIPS 180-4).
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace sbp {

std::string Sha256(std::string_view bytes);  // 32 bytes
std::string HmacSha256(std::string_view key, std::string_view bytes);
// In a time that does not depend on where they differ.
bool SameBytes(std::string_view a, std::string_view b);
// That nobody can guess. Error (kRunFailed): the system has none.
Result<std::string> RandomBytes(size_t count);
std::string HexOf(std::string_view bytes);

}  // namespace sbp
