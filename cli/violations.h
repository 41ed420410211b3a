// What a check found wrong, as commands print it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "check/violation.h"

namespace sbp {

// The first ones, each with what was expected and found, then how many there are. Not empty.
std::string FormatViolations(const std::vector<Violation>& violations);
// All of them.
nlohmann::ordered_json ViolationsJson(const std::vector<Violation>& violations);

}  // namespace sbp
