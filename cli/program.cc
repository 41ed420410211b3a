#include "cli/program.h"

#include <CLI/CLI.hpp>
#include <exception>
#include <new>
#include <sstream>
#include <string>

#include "base/status.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/usage.h"

namespace sbp {
namespace {

std::string Footer() {
  constexpr size_t kWidth = 110;
  std::string line = "Exit codes:", text;
  for (const ExitCodeRow& row : AllExitCodes()) {
    const bool is_last = row.code == AllExitCodes().back().code;
    const std::string entry = StrCat(static_cast<int>(row.code), " ", row.meaning, is_last ? "." : ";");
    if (line.size() + 1 + entry.size() > kWidth) {
      text += line + "\n";
      line.clear();
    }
    line += line.empty() ? entry : " " + entry;
  }
  return StrCat(text, line,
                "\n\nFirst steps:\n"
                "  sbp-plan infer model.onnx --mesh data=2,model=4 -o plan.json\n"
                "  sbp-plan render plan.json -o plan.svg\n"
                "  sbp-plan explain plan.json OP\n");
}

int Report(const Status& status) {
  if (status.ok()) return 0;
  if (Interrupted()) {
    Say("\nsbp-plan: interrupted; no output was written\n");
    return kInterrupted;
  }
  if (!status.message().empty()) Note("error: " + status.message());
  if (status.code() == Code::kDefect) {
    Say(StrCat("This is a defect of sbp-plan. Please report it with the command, the version (", SBP_VERSION,
               ") and, if you can, the input.\n"));
  }
  return static_cast<int>(status.code());
}

// No flag and no argument means anything when it is empty.
void RefuseEmpty(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    option->check([](const std::string& text) { return text.empty() ? "\"\" is empty" : std::string(); });
  }
  for (CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) RefuseEmpty(*sub);
}

// --quiet is for every command; a command's own help names it.
void AddQuietFlag(CLI::App& app) {
  app.add_flag_callback(
         "-q,--quiet", [] { SetQuiet(true); }, "no progress and no notes; warnings and errors stay")
      ->trigger_on_parse();
  for (CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) AddQuietFlag(*sub);
}

int Run(int argc, const char* const* argv) {
  CLI::App app(
      "A sharding planner: op graph in, plan out. Which device holds which slice of each tensor, where communication\n"
      "appears and why, what it costs in time, bytes and memory.",
      "sbp-plan");
  app.set_version_flag("-V,--version", std::string("sbp-plan ") + SBP_VERSION);
  app.require_subcommand(1);
  app.footer(Footer());
  app.get_formatter()->column_width(34);

  Command selected;
  for (const CommandRow& row : AllCommands()) {
    CLI::App* sub = app.add_subcommand(std::string(row.name), std::string(row.summary));
    sub->footer("Examples:\n" + std::string(row.examples));
    sub->callback([&selected, run = row.setup(*sub)] { selected = run; });
  }
  AddQuietFlag(app);
  RefuseEmpty(app);
  if (argc == 1) {
    (void)Print(app.help());
    return static_cast<int>(Code::kUsage);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) {  // --help, --version
      std::ostringstream text;
      (void)app.exit(e, text, text);
      return Report(Print(text.str()));
    }
    return Report(ExplainUsage(app, e));
  }
  Status status = KeepArguments(*app.get_subcommands().front());
  if (status.ok()) {
    const ProgressScope progress(app.get_subcommands().front()->get_name());
    status = selected();
  }
  return Report(status);
}

}  // namespace

int RunCommandLine(int argc, const char* const* argv) {
  SetQuiet(false);  // an earlier call of this thread may have been quiet
  // Nothing of ours throws; the standard library may, when memory is gone or a defect of ours trips it.
  try {
    return Run(argc, argv);
  } catch (const std::bad_alloc&) {
    Say("error: out of memory\n");
    return static_cast<int>(Code::kBadInput);
  } catch (const std::exception& e) {
    Say(StrCat("error: ", e.what(), "\nThis is a defect of sbp-plan; please report it.\n"));
    return static_cast<int>(Code::kDefect);
  }
}

}  // namespace sbp
