// What a command line consists of, read off CLI11's tables: commands, options, what they take. Man pages and shell
// completions are written from it, so that neither can differ from what is parsed.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sbp {

struct OptionText {
  std::vector<std::string> names;  // "-o", "--output"; none: a positional argument
  std::string positional;          // "model"
  std::string value;               // "PLAN"; "": a flag, which takes none
  std::string limits;              // "FLOAT in [0 - 1e+09]", "{text,json}"; may be ""
  std::string default_value;       // as the command line spells it; "": none
  std::string text;
  std::vector<std::string> choices;  // values that are known beforehand
  bool required = false, repeated = false;
  bool takes_file = false, takes_folder = false;
};

struct CommandText {
  std::vector<std::string> path;  // "sbp-plan", "rules", "candidates"
  std::string summary;
  std::string examples;  // lines; may be ""
  std::vector<OptionText> arguments, options;
  std::vector<CommandText> commands;
};

// `app` with all below it, in the order in which they were declared.
CommandText DescribeCommands(const CLI::App& app);

// Values that an option may take and does not check by itself, for completions: those of a table, such as the names of
// strategies. Asked for only when completions are written.
void OfferChoices(CLI::Option* option, std::function<std::vector<std::string>()> choices);

}  // namespace sbp
