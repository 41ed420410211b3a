#include "cli/completion_text.h"

#include <vector>

#include "base/text.h"

namespace sbp {

void VisitCommands(const CommandText& command, const std::function<void(const CommandText&)>& visit) {
  visit(command);
  for (const CommandText& below : command.commands) VisitCommands(below, visit);
}

std::string ShellQuote(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string FirstLine(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

std::string PathBelowProgram(const CommandText& command) {
  return Join(std::vector<std::string>(command.path.begin() + 1, command.path.end()), " ");
}

}  // namespace sbp
