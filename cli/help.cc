// help: what --help of a command says.
#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"

namespace sbp {
namespace {

Status Help(const CLI::App& root, const std::vector<std::string>& words) {
  const CLI::App* command = &root;
  std::string path;
  for (const std::string& word : words) {
    path += StrCat(path.empty() ? "" : " ", command->get_name());
    std::vector<std::string> known;
    const CLI::App* found = nullptr;
    for (const CLI::App* sub : command->get_subcommands([](const CLI::App*) { return true; })) {
      known.push_back(sub->get_name());
      if (sub->get_name() == word) found = sub;
    }
    if (found == nullptr) {
      return UsageError(StrCat(path, " has no command ", Quote(word), DidYouMean(word, known),
                               known.empty() ? "" : StrCat("; the commands of ", path, " are ", Join(known, ", "))));
    }
    command = found;
  }
  if (words.empty()) return Print(root.get_formatter()->make_help(&root, root.get_name(), CLI::AppFormatMode::Normal));
  return Print(command->help(path));
}

}  // namespace

Command SetupHelp(CLI::App& app) {
  auto words = std::make_shared<std::vector<std::string>>();
  app.add_option("command", *words, "of this command; none: of all")->type_name("COMMAND");
  const CLI::App* root = app.get_parent();
  return [root, words] { return Help(*root, *words); };
}

}  // namespace sbp
