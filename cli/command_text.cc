#include "cli/command_text.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace sbp {
namespace {

constexpr const char* kChoices = "choices";
constexpr std::string_view kExamples[] = {"Examples:\n", "First steps:\n"};  // what footers call them

// Never active, so that it neither checks nor shows in help.
class ChoiceList : public CLI::Validator {
 public:
  explicit ChoiceList(std::function<std::vector<std::string>()> choices) {
    name(kChoices);
    desc_function_ = [choices = std::move(choices)] { return Join(choices(), "\n"); };
    active(false);
  }
};

// "NAME=N" takes no file, "PLAN|MODEL" and "X.npz" do.
bool NamesFile(std::string_view value) {
  constexpr std::string_view kFiles[] = {"FILE", "MODEL", "PLAN", "CLUSTER", "PROBLEM", "IN", "OUT"};
  const std::vector<std::string_view> words = Split(value, '|');
  return std::ranges::any_of(words, [&](std::string_view word) {
    return word.find('.') != std::string_view::npos || std::ranges::find(kFiles, word) != std::end(kFiles);
  });
}

std::vector<std::string> ChoicesOf(CLI::Option& option, std::string_view limits) {
  std::vector<std::string> choices;
  if (limits.starts_with('{') && limits.ends_with('}')) {
    for (const std::string_view word : Split(limits.substr(1, limits.size() - 2), ',')) choices.emplace_back(word);
    return choices;
  }
  try {
    CLI::Validator list = *option.get_validator(kChoices);
    const std::string lines = list.active().get_description();
    for (const std::string_view word : Split(lines, '\n')) choices.emplace_back(word);
  } catch (const CLI::OptionNotFound&) {  // nothing is offered
  }
  return choices;
}

OptionText DescribeOption(CLI::Option& option) {
  OptionText text;
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  if (option.get_positional()) text.positional = option.get_name(true);
  text.text = option.get_description();
  if (option.get_type_size() == 0) return text;
  const std::string type = option.get_type_name();
  const size_t colon = type.find(':');
  text.value = type.substr(0, colon);
  if (colon != std::string::npos) text.limits = type.substr(colon + 1);
  text.default_value = option.get_default_str();
  text.choices = ChoicesOf(option, text.limits);
  text.required = option.get_required();
  text.repeated = option.get_items_expected_max() > 1;
  text.takes_file = NamesFile(text.value);
  text.takes_folder = text.value == "DIR";
  return text;
}

CommandText DescribeBelow(const CLI::App& app, std::vector<std::string> path) {
  CommandText command;
  path.push_back(app.get_name());
  command.path = path;
  command.summary = app.get_description();
  const std::string footer = app.get_footer();
  for (const std::string_view title : kExamples) {
    const size_t at = footer.find(title);
    if (at != std::string::npos) command.examples = footer.substr(at + title.size());
  }
  for (const CLI::Option* option : app.get_options()) {
    const OptionText text = DescribeOption(const_cast<CLI::Option&>(*option));  // its validators cannot be asked else
    (text.names.empty() ? command.arguments : command.options).push_back(text);
  }
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    command.commands.push_back(DescribeBelow(*sub, path));
  }
  return command;
}

}  // namespace

CommandText DescribeCommands(const CLI::App& app) { return DescribeBelow(app, {}); }

void OfferChoices(CLI::Option* option, std::function<std::vector<std::string>()> choices) {
  option->check(ChoiceList(std::move(choices)), kChoices);
}

}  // namespace sbp
