// gzip: is it, and what is in it.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace sbp {

bool IsGzip(std::string_view bytes);
// The content of all members. Errors: corrupt or cut off, something else behind the last member, more than 16 GiB.
Result<std::string> Gunzip(std::string_view bytes);

}  // namespace sbp
