// The program of a page: modules of JavaScript, its style and its frame, as they stand in html/.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sbp {

struct PageFile {
  std::string_view name;  // "main.js"
  std::string_view text;
};
std::span<const PageFile> PageFiles();  // sorted by name

// One script of the module `main` and all that it imports, those first: what a page without a server can run. A module
// imports by `import {a, b} from "./other.js";`, exports by `export` before a declaration, and declares no name that
// another one does. Error (kDefect): an import of no module, a cycle.
Result<std::string> JoinModules(std::span<const PageFile> files, std::string_view main);

}  // namespace sbp
