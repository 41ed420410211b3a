#include "cli/completion.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "base/text.h"

namespace sbp {
namespace {

// Every command with all below it, outermost first.
void Visit(const CommandText& command, const std::function<void(const CommandText&)>& visit) {
  visit(command);
  for (const CommandText& below : command.commands) Visit(below, visit);
}

// Within single quotes of a POSIX shell.
std::string ShellQuote(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string FirstLine(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

// "rules candidates"; "" for the program.
std::string Below(const CommandText& command) {
  return Join(std::vector<std::string>(command.path.begin() + 1, command.path.end()), " ");
}

std::string FunctionOf(const CommandText& command) {
  std::string name = "_" + Join(command.path, "__");
  std::ranges::replace(name, '-', '_');
  return name;
}

std::vector<std::string> NamesOf(const std::vector<CommandText>& commands) {
  std::vector<std::string> names;
  for (const CommandText& command : commands) names.push_back(command.path.back());
  return names;
}

// What may stand after an option of bash, as the body of a case.
std::string BashValues(const OptionText& option) {
  const std::string kind = option.takes_folder ? "kind=folder" : option.takes_file ? "kind=file" : "kind=none";
  return option.choices.empty() ? kind : StrCat(kind, " values=", ShellQuote(Join(option.choices, "\n")));
}

}  // namespace

std::span<const ShellRow> AllShells() {
  static constexpr ShellRow kRows[] = {
      {"bash", "share/bash-completion/completions/sbp-plan", BashCompletion},
      {"fish", "share/fish/vendor_completions.d/sbp-plan.fish", FishCompletion},
      {"zsh", "share/zsh/vendor-completions/_sbp-plan", ZshCompletion},
  };
  return kRows;
}

std::string BashCompletion(const CommandText& program) {
  std::string commands, values, arguments;
  Visit(program, [&](const CommandText& command) {
    const std::string path = Below(command);
    std::vector<std::string> flags;
    for (const OptionText& option : command.options) {
      flags.insert(flags.end(), option.names.begin(), option.names.end());
      if (option.value.empty()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) patterns.push_back(ShellQuote(StrCat(path, " ", name)));
      values += StrCat("    ", Join(patterns, " | "), ") ", BashValues(option), " ;;\n");
    }
    commands += StrCat("    ", ShellQuote(path), ") flags=", ShellQuote(Join(flags, "\n")), " commands=",
                       ShellQuote(Join(NamesOf(command.commands), "\n")), " ;;\n");
    const auto completes = [](const OptionText& option) { return option.takes_file || !option.choices.empty(); };
    const auto argument = std::ranges::find_if(command.arguments, completes);
    if (argument != command.arguments.end()) {
      arguments += StrCat("    ", ShellQuote(path), ") ", BashValues(*argument), " ;;\n");
    }
  });
  return StrCat(
      "# bash completion of sbp-plan; written by: sbp-plan help --completion bash\n"
      "_sbp_plan() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local path='' flags='' commands='' values='' kind=none word i\n"
      "  local IFS=$' \\t\\n'\n"
      "  COMPREPLY=()\n"
      "  # --option=value comes as three words.\n"
      "  if [[ $current == '=' ]]; then\n"
      "    current=''\n"
      "  elif [[ $before == '=' ]]; then\n"
      "    before=${COMP_WORDS[COMP_CWORD-2]}\n"
      "  fi\n"
      "  _sbp_plan_of() {\n"
      "    case $1 in\n",
      commands,
      "    *) return 1 ;;\n"
      "    esac\n"
      "  }\n"
      "  _sbp_plan_of ''\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    word=${COMP_WORDS[i]}\n"
      "    if [[ -n $word && $'\\n'$commands$'\\n' == *$'\\n'$word$'\\n'* ]]; then\n"
      "      path=${path:+$path }$word\n"
      "      _sbp_plan_of \"$path\"\n"
      "    fi\n"
      "  done\n"
      "  unset -f _sbp_plan_of\n"
      "  case \"$path $before\" in\n",
      values,
      "  *)\n"
      "    if [[ $current == -* ]]; then\n"
      "      values=$flags\n"
      "    elif [[ -n $commands ]]; then\n"
      "      values=$commands\n"
      "    else\n"
      "      case $path in\n",
      arguments,
      "      esac\n"
      "    fi\n"
      "    ;;\n"
      "  esac\n"
      "  IFS=$'\\n'\n"
      "  if [[ -n $values ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$values\" -- \"$current\"))\n"
      "  fi\n"
      "  if [[ $kind == folder ]]; then\n"
      "    compopt -o filenames 2>/dev/null\n"
      "    COMPREPLY+=($(compgen -d -- \"$current\"))\n"
      "  elif [[ $kind == file ]]; then\n"
      "    compopt -o filenames 2>/dev/null\n"
      "    COMPREPLY+=($(compgen -f -- \"$current\"))\n"
      "  fi\n"
      "}\n"
      "complete -F _sbp_plan sbp-plan\n");
}

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
  Visit(program, [&](const CommandText& command) {
    const std::string here = StrCat("complete -c sbp-plan -n '__sbp_plan_at ", Below(command), "'");
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

namespace {

// Within an option's specification of _arguments: brackets and colons are its own.
std::string ZshText(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string ZshAction(const OptionText& option) {
  if (!option.choices.empty()) {
    std::vector<std::string> words;
    for (const std::string& choice : option.choices) words.push_back(ZshText(choice));
    const std::string list = StrCat("(", Join(words, " "), ")");
    if (!option.takes_file) return list;
    return StrCat("{_alternative ", ShellQuote("names:name:" + list), " 'files:file:_files'}");
  }
  if (option.takes_folder) return "_directories";
  return option.takes_file ? "_files" : " ";
}

std::string ZshOptions(const CommandText& command) {
  std::string text;
  for (const OptionText& option : command.options) {
    for (const std::string& name : option.names) {
      const bool takes_value = !option.value.empty();
      const std::string others = option.repeated ? "*" : StrCat("(", Join(option.names, " "), ")");
      std::string spec = StrCat(others, name, takes_value && name.starts_with("--") ? "=" : "", "[",
                                ZshText(FirstLine(option.text)), "]");
      if (takes_value) spec += StrCat(":", ZshText(option.value), ":", ZshAction(option));
      text += StrCat("    ", ShellQuote(spec), " \\\n");
    }
  }
  return text;
}

std::string ZshArguments(const CommandText& command) {
  std::string text;
  for (const OptionText& argument : command.arguments) {
    const std::string places = argument.repeated ? "*" : argument.required ? "" : ":";
    const std::string spec = StrCat(places, ":", ZshText(argument.positional), ":", ZshAction(argument));
    text += StrCat("    ", ShellQuote(spec), " \\\n");
  }
  return text;
}

// Of a command that has commands: which, then theirs.
std::string ZshDispatch(const CommandText& command) {
  std::string names, cases;
  for (const CommandText& below : command.commands) {
    names += StrCat("      ", ShellQuote(StrCat(ZshText(below.path.back()), ":", ZshText(FirstLine(below.summary)))),
                    "\n");
    cases += StrCat("      ", below.path.back(), ") ", FunctionOf(below), " ;;\n");
  }
  return StrCat("    '1: :->command' \\\n    '*:: :->rest'\n  case $state in\n  command)\n    local -a commands=(\n",
                names, "    )\n    _describe command commands\n    ;;\n  rest)\n    case $words[1] in\n", cases,
                "    esac\n    ;;\n  esac\n");
}

}  // namespace

std::string ZshCompletion(const CommandText& program) {
  std::string text =
      "#compdef sbp-plan\n"
      "# zsh completion of sbp-plan; written by: sbp-plan help --completion zsh\n";
  Visit(program, [&](const CommandText& command) {
    text += StrCat(FunctionOf(command), "() {\n  local context state state_descr line\n  typeset -A opt_args\n");
    if (command.commands.empty()) {
      std::string specs = ZshOptions(command) + ZshArguments(command);
      specs.resize(specs.size() - 3);  // the last " \"
      text += StrCat("  _arguments -s -S \\\n", specs, "\n");
    } else {
      text += StrCat("  _arguments -s -S -C \\\n", ZshOptions(command), ZshDispatch(command));
    }
    text += "}\n";
  });
  return StrCat(text, "if [[ $funcstack[1] == _sbp-plan ]]; then\n  ", FunctionOf(program),
                " \"$@\"\nelse\n  compdef ", FunctionOf(program), " sbp-plan\nfi\n");
}

}  // namespace sbp
