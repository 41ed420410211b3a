// help: what --help of a command says; the same as manual pages and completions.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/command_text.h"
#include "cli/completion.h"
#include "cli/man_page.h"
#include "cli/output.h"
#include "io/file.h"

namespace sbp {
namespace {

struct HelpFlags {
  std::vector<std::string> words;
  bool man = false;
  std::string completion, write_all;
};

// The command that the words name. Error (kUsage): none, with those that there are.
Result<const CLI::App*> FindCommand(const CLI::App& root, const std::vector<std::string>& words, std::string& path) {
  const CLI::App* command = &root;
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
  return command;
}

// Commands below a command are parts of its page.
std::string PageOf(const CommandText& program, const std::vector<std::string>& words) {
  if (words.empty()) return ManPage(program, program);
  const auto is_asked = [&](const CommandText& command) { return command.path.back() == words[0]; };
  return ManPage(*std::ranges::find_if(program.commands, is_asked), program);
}

Status WriteBelow(const std::string& folder, std::string_view path, std::string_view content) {
  const std::filesystem::path file = std::filesystem::path(folder) / path;
  std::error_code failed;
  std::filesystem::create_directories(file.parent_path(), failed);
  if (failed)
    return BadInput(StrCat("cannot make folder ", Quote(file.parent_path().string()), ": ", failed.message()));
  return WriteFile(file.string(), content);
}

// Where a package has them, below `folder`.
Status WriteAll(const CommandText& program, const std::string& folder) {
  SBP_RETURN_IF_ERROR(
      WriteBelow(folder, StrCat("share/man/man1/", ManPageName(program), ".1"), ManPage(program, program)));
  for (const CommandText& command : program.commands) {
    SBP_RETURN_IF_ERROR(
        WriteBelow(folder, StrCat("share/man/man1/", ManPageName(command), ".1"), ManPage(command, program)));
  }
  for (const ShellRow& shell : AllShells())
    SBP_RETURN_IF_ERROR(WriteBelow(folder, shell.install, shell.write(program)));
  return OkStatus();
}

Status Help(const CLI::App& root, const HelpFlags& flags) {
  const int kinds = (flags.man ? 1 : 0) + (flags.completion.empty() ? 0 : 1) + (flags.write_all.empty() ? 0 : 1);
  if (kinds > 1) return UsageError("--man, --completion and --write-all: one of them");
  if (!flags.words.empty() && kinds == 1 && !flags.man) {
    return UsageError("--completion and --write-all are of all commands, not of one");
  }
  std::string path;
  SBP_ASSIGN_OR_RETURN(const CLI::App* command, FindCommand(root, flags.words, path));
  if (kinds == 0) {
    if (!flags.words.empty()) return Print(command->help(path));
    return Print(root.get_formatter()->make_help(&root, root.get_name(), CLI::AppFormatMode::Normal));
  }
  const CommandText program = DescribeCommands(root);
  if (flags.man) return Print(PageOf(program, flags.words));
  if (!flags.write_all.empty()) return WriteAll(program, flags.write_all);
  for (const ShellRow& shell : AllShells()) {
    if (shell.name == flags.completion) return Print(shell.write(program));
  }
  return Defect(StrCat("no completion for ", flags.completion));
}

}  // namespace

Command SetupHelp(CLI::App& app) {
  auto flags = std::make_shared<HelpFlags>();
  const CLI::App* root = app.get_parent();
  CLI::Option* words = app.add_option("command", flags->words, "of this command; none: of all")->type_name("COMMAND");
  OfferChoices(words, [root] {
    std::vector<std::string> names;
    for (const CLI::App* sub : root->get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(sub->get_name());
    }
    return names;
  });
  std::vector<std::string> shells;
  for (const ShellRow& shell : AllShells()) shells.emplace_back(shell.name);
  app.add_flag("--man", flags->man, "as a manual page: sbp-plan help infer --man | man -l -");
  app.add_option("--completion", flags->completion,
                 "a completion script, to be sourced: source <(sbp-plan help --completion bash)")
      ->check(CLI::IsMember(shells))
      ->type_name("SHELL");
  app.add_option("--write-all", flags->write_all,
                 "manual pages and completions, as a package has them below its prefix")
      ->type_name("DIR");
  return [flags, root] { return Help(*root, *flags); };
}

}  // namespace sbp
