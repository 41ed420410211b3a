// What the writers of completions share.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/command_text.h"

namespace sbp {

// Every command with all below it, outermost first.
void VisitCommands(const CommandText& command, const std::function<void(const CommandText&)>& visit);

// Within single quotes of a shell.
std::string ShellQuote(std::string_view text);
std::string FirstLine(std::string_view text);
// "rules candidates"; "" for the program.
std::string PathBelowProgram(const CommandText& command);

}  // namespace sbp
