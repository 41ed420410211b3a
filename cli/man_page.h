// Manual pages, in the roff macros of man(7).
#pragma once

#include <string>

#include "cli/command_text.h"

namespace sbp {

// "sbp-plan-rules": the page of a command; commands below a command share its page.
std::string ManPageName(const CommandText& command);

// The page of the program (all of it) or of one of its commands, with those below it. The same bytes for the same
// version.
std::string ManPage(const CommandText& command, const CommandText& program);

}  // namespace sbp
