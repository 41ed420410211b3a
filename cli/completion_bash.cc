#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cli/command_text.h"
#include "cli/completion.h"
#include "cli/completion_text.h"

namespace sbp {
namespace {

// The script, with the tables between its parts.
constexpr std::string_view kUpToCommands = R"(# bash completion of sbp-plan; written by: sbp-plan help --completion bash
_sbp_plan() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  local path='' flags='' commands='' values='' kind=none word i
  local IFS=$' \t\n'
  COMPREPLY=()
  # --option=value comes as three words.
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $before == '=' ]]; then
    before=${COMP_WORDS[COMP_CWORD-2]}
  fi
  _sbp_plan_of() {
    case $1 in
)";
constexpr std::string_view kUpToValues = R"(    *) return 1 ;;
    esac
  }
  _sbp_plan_of ''
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if [[ -n $word && $'\n'$commands$'\n' == *$'\n'$word$'\n'* ]]; then
      path=${path:+$path }$word
      _sbp_plan_of "$path"
    fi
  done
  unset -f _sbp_plan_of
  case "$path $before" in
)";
constexpr std::string_view kUpToArguments = R"(  *)
    if [[ $current == -* ]]; then
      values=$flags
    elif [[ -n $commands ]]; then
      values=$commands
    else
      case $path in
)";
constexpr std::string_view kRest = R"(      esac
    fi
    ;;
  esac
  IFS=$'\n'
  if [[ -n $values ]]; then
    COMPREPLY=($(compgen -W "$values" -- "$current"))
  fi
  if [[ $kind == folder ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY+=($(compgen -d -- "$current"))
  elif [[ $kind == file ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY+=($(compgen -f -- "$current"))
  fi
}
complete -F _sbp_plan sbp-plan
)";

// What may stand in the place of an option's value or of an argument, as the body of a case.
std::string ValuesOf(const OptionText& option) {
  const std::string kind = option.takes_folder ? "kind=folder" : option.takes_file ? "kind=file" : "kind=none";
  return option.choices.empty() ? kind : StrCat(kind, " values=", ShellQuote(Join(option.choices, "\n")));
}

std::string OneCase(std::string_view patterns, std::string_view body) {
  return StrCat("    ", patterns, ") ", body, " ;;\n");
}

// The bodies of the three cases: a command's flags and commands, an option's values, a command's arguments.
struct BashTables {
  std::string commands, values, arguments;

  void Add(const CommandText& command) {
    const std::string path = PathBelowProgram(command);
    std::vector<std::string> flags, names;
    for (const OptionText& option : command.options) {
      flags.insert(flags.end(), option.names.begin(), option.names.end());
      if (option.value.empty()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) patterns.push_back(ShellQuote(StrCat(path, " ", name)));
      values += OneCase(Join(patterns, " | "), ValuesOf(option));
    }
    for (const CommandText& below : command.commands) names.push_back(below.path.back());
    commands += OneCase(ShellQuote(path),
                        StrCat("flags=", ShellQuote(Join(flags, "\n")), " commands=", ShellQuote(Join(names, "\n"))));
    const auto completes = [](const OptionText& option) { return option.takes_file || !option.choices.empty(); };
    const auto argument = std::ranges::find_if(command.arguments, completes);
    if (argument != command.arguments.end()) arguments += OneCase(ShellQuote(path), ValuesOf(*argument));
  }
};

}  // namespace

std::string BashCompletion(const CommandText& program) {
  BashTables tables;
  VisitCommands(program, [&](const CommandText& command) { tables.Add(command); });
  return StrCat(kUpToCommands, tables.commands, kUpToValues, tables.values, kUpToArguments, tables.arguments, kRest);
}

}  // namespace sbp
