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

std::string FunctionOf(const CommandText& command) {
  std::string name = "_" + Join(command.path, "__");
  std::ranges::replace(name, '-', '_');
  return name;
}

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
    std::string list = StrCat("(", Join(words, " "), ")");
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
    names +=
        StrCat("      ", ShellQuote(StrCat(ZshText(below.path.back()), ":", ZshText(FirstLine(below.summary)))), "\n");
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
  VisitCommands(program, [&](const CommandText& command) {
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
  return StrCat(text, "if [[ $funcstack[1] == _sbp-plan ]]; then\n  ", FunctionOf(program), " \"$@\"\nelse\n  compdef ",
                FunctionOf(program), " sbp-plan\nfi\n");
}

}  // namespace sbp
