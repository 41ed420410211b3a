#include "cli/usage.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <system_error>
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
  std::vector<std::string> words = app.remaining();
  std::erase(words, "--");  // which ends the flags; CLI11 counts it among what is left
  if (wants_command) return words.empty() ? "" : words.front();
  const auto flag = std::ranges::find_if(words, [](const std::string& word) { return word.starts_with('-'); });
  return flag != words.end() ? *flag : words.empty() ? "" : words.front();
}

// CLI11's messages in our words: what stands there, what was expected, and the nearest valid name.
std::string InOurWords(const std::string& message) {
  std::smatch part;
  static const std::regex no_number("Could not convert: (.*) = (.*)");
  static const std::regex out_of_range("(.*): Value (.*) not in range (.*) to (.*)");
  static const std::regex no_member("(.*): (.*) not in \\{(.*)\\}");
  static const std::regex no_value("(.*): 1 required (.*) missing");
  const auto shortly = [](const std::string& number) {
    const std::optional<double> value = ParseDouble(number);
    return value ? FormatDouble(*value) : number;
  };
  if (std::regex_match(message, part, no_number))
    return StrCat(part[1], " ", Quote(part[2].str()), ": expected a number");
  if (std::regex_match(message, part, out_of_range)) {
    return StrCat(part[1], " ", Quote(part[2].str()), ": expected a number from ", shortly(part[3]), " to ",
                  shortly(part[4]));
  }
  if (std::regex_match(message, part, no_member)) {
    std::vector<std::string> known;
    const std::string list = part[3];
    for (const std::string_view name : Split(list, ',')) known.emplace_back(name);
    return StrCat(part[1], " ", Quote(part[2].str()), ": expected ", known.size() > 1 ? "one of " : "",
                  Join(known, ", "), DidYouMean(part[2].str(), known));
  }
  if (std::regex_match(message, part, no_value)) return StrCat(part[1], ": ", part[2], " is missing");
  return message;
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
  return InOurWords(WithTypeNames(command, error.what()));
}

// Flags that name a file to write.
constexpr std::string_view kWritten[] = {"--output", "--out", "--outputs", "--save", "--trace"};
constexpr std::string_view kReadsTrace = "render";  // the command whose --trace is read

bool IsOneFile(const std::string& a, const std::string& b) {
  std::error_code error;  // none of them need exist
  return std::filesystem::equivalent(a, b, error) && !error && std::filesystem::is_regular_file(a, error);
}

}  // namespace

Status KeepArguments(const CLI::App& command) {
  for (const std::string_view name : kWritten) {
    const CLI::Option* const written = command.get_option_no_throw(std::string(name));
    if (written == nullptr || written->empty()) continue;
    if (command.get_name() == kReadsTrace && name == "--trace") continue;
    for (const CLI::Option* argument : command.get_options()) {
      if (!argument->get_positional()) continue;
      for (const std::string& read : argument->results()) {
        if (!IsOneFile(read, written->results().front())) continue;
        return UsageError(StrCat(name, " ", Quote(written->results().front()), " is the ", argument->get_type_name(),
                                 " that is read and would be lost; expected another file"));
      }
    }
  }
  return OkStatus();
}

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
