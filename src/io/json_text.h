// JSON of other programs as a value, with a bound on what a small text may take: each value takes tens of bytes, each
// bracket as many.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/status.h"

namespace sbp {

struct JsonLimits {
  int depth = 200;                  // brackets within each other
  size_t values = size_t{1} << 24;  // and names of members
};

// The text, whose outermost value must be an object without a name twice. Errors (kBadInput) start with WHERE:line:col.
Result<nlohmann::json> ParseJsonObject(std::string_view text, std::string_view where, JsonLimits limits = {});

}  // namespace sbp
