// zlib's form of deflated bytes (RFC 1950), which browsers inflate as "deflate".
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace sbp {

// The same bytes give the same result on one version of zlib.
Result<std::string> Deflate(std::string_view bytes);

}  // namespace sbp
