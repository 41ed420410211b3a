// Shell completions: one writer and one row per shell.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/command_text.h"

namespace sbp {

struct ShellRow {
  std::string_view name;     // as in `help --completion`
  std::string_view install;  // where a package puts the script, below its prefix
  std::string (*write)(const CommandText& program);
};
std::span<const ShellRow> AllShells();

// Rows.
std::string BashCompletion(const CommandText& program);
std::string FishCompletion(const CommandText& program);
std::string ZshCompletion(const CommandText& program);

}  // namespace sbp
