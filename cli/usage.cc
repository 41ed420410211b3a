#include "cli/usage.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"

namespace sbp {
namespace {

std::vector<std::string> FlagsOf(CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

std::vector<std::string> CommandsOf(CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  return names;
}

// The word that nothing takes: where a command is missing the first one, else a flag before its value.
std::string UnexpectedWord(const CLI::App& app, bool wants_command) {
  const std::vector<std::string> words = app.remaining();
  if (wants_command) return words.empty() ? "" : words.front();
  const auto flag = std::ranges::find_if(words, [](const std::string& word) { return word.starts_with('-'); });
  return flag != words.end() ? *flag : words.empty() ? "" : words.front();
}

// "plan is required": the help calls it PLAN.
std::string WithTypeNames(const CLI::App& command, const std::string& message) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name(/*positional=*/true);
    const bool is_named = option->get_positional() && !name.empty() && message.starts_with(name + " ");
    if (is_named) return option->get_type_name() + message.substr(name.size());
  }
  return message;
}

std::string WhatIsWrong(CLI::App& command, const std::string& path, const CLI::ParseError& error) {
  const std::vector<std::string> commands = CommandsOf(command);
  const std::string word = UnexpectedWord(command, !commands.empty());
  if (word.starts_with('-')) {
    const std::string flag = word.substr(0, word.find('='));
    return StrCat(path, " has no flag ", Quote(flag), DidYouMean(flag, FlagsOf(command)));
  }
  if (!commands.empty()) {
    const std::string known = StrCat("the commands of ", path, " are ", Join(commands, ", "));
    if (word.empty()) return StrCat("no command is given; ", known);
    return StrCat(path, " has no command ", Quote(word), DidYouMean(word, commands), "; ", known);
  }
  if (!word.empty()) return StrCat(path, " takes no further argument ", Quote(word));
  return WithTypeNames(command, error.what());
}

}  // namespace

Status ExplainUsage(CLI::App& app, const CLI::ParseError& error) {
  CLI::App* command = &app;
  std::string path = app.get_name();
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    path += " " + command->get_name();
  }
  return UsageError(StrCat(WhatIsWrong(*command, path, error), "\n", path, " --help says what there is"));
}

}  // namespace sbp
