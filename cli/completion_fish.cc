#include <string>

#include "base/text.h"
#include "cli/command_text.h"
#include "cli/completion.h"
#include "cli/completion_text.h"

namespace sbp {

std::string FishCompletion(const CommandText& program) {
  std::string text =
      "# fish completion of sbp-plan; written by: sbp-plan help --completion fish\n"
      "complete -c sbp-plan -f\n"
      "# Is the command line so far, without options, this command?\n"
      "function __sbp_plan_at\n"
      "  set -l words (commandline -opc)[2..]\n"
      "  set -l rest\n"
      "  for word in $words\n"
      "    string match -q -- '-*' $word; or set -a rest $word\n"
      "  end\n"
      "  test (count $rest) -ge (count $argv); or return 1\n"
      "  test (count $argv) -eq 0; and test (count $rest) -gt 0; and return 1\n"
      "  for i in (seq (count $argv))\n"
      "    test $rest[$i] = $argv[$i]; or return 1\n"
      "  end\n"
      "end\n";
  VisitCommands(program, [&](const CommandText& command) {
    const std::string here = StrCat("complete -c sbp-plan -n '__sbp_plan_at ", PathBelowProgram(command), "'");
    for (const CommandText& below : command.commands) {
      text += StrCat(here, " -a ", ShellQuote(below.path.back()), " -d ", ShellQuote(FirstLine(below.summary)), "\n");
    }
    for (const OptionText& argument : command.arguments) {
      if (!argument.choices.empty()) text += StrCat(here, " -a ", ShellQuote(Join(argument.choices, " ")), "\n");
      if (argument.takes_file) text += StrCat(here, " -F\n");
    }
    for (const OptionText& option : command.options) {
      text += here;
      for (const std::string& name : option.names) {
        text += name.starts_with("--") ? StrCat(" -l ", name.substr(2)) : StrCat(" -s ", name.substr(1));
      }
      if (!option.choices.empty()) {
        text += StrCat(option.takes_file ? " -r -F" : " -x", " -a ", ShellQuote(Join(option.choices, " ")));
      } else if (option.takes_folder) {
        text += " -x -a '(__fish_complete_directories)'";
      } else if (!option.value.empty()) {
        text += option.takes_file ? " -r -F" : " -x";
      }
      text += StrCat(" -d ", ShellQuote(FirstLine(option.text)), "\n");
    }
  });
  return text;
}

}  // namespace sbp
