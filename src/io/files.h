// Several files that belong together.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace sbp {

// As WriteFile (io/file.h) of each path and its content, but all or none: what was there before stays until all are
// whole. Paths are of different files. Error: of the first that cannot be written.
Status WriteFiles(const std::vector<std::pair<std::string, std::string_view>>& files);

}  // namespace sbp
