// What the exit codes mean, for help and manual pages.
#pragma once

#include <span>
#include <string_view>

#include "base/status.h"

namespace sbp {

struct ExitCodeRow {
  Code code;
  std::string_view meaning;
};
std::span<const ExitCodeRow> AllExitCodes();

}  // namespace sbp
