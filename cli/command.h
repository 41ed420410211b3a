// The command table: one file per command, one row here.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "base/status.h"

namespace CLI {
class App;
}

namespace sbp {

// Adds the command's flags to `app` and returns what runs once they are parsed. The returned function prints results to
// stdout and chatter to stderr.
using Command = std::function<Status()>;

struct CommandRow {
  std::string_view name;
  std::string_view summary;   // one line, in the list of commands
  std::string_view examples;  // shown at the end of --help
  Command (*setup)(CLI::App& app);
};
std::span<const CommandRow> AllCommands();  // all_commands.cc

// One file each.
Command SetupInfer(CLI::App& app);
Command SetupCalibrate(CLI::App& app);
Command SetupCompare(CLI::App& app);
Command SetupRender(CLI::App& app);
Command SetupView(CLI::App& app);
Command SetupExplain(CLI::App& app);
Command SetupCheck(CLI::App& app);
Command SetupDiff(CLI::App& app);
Command SetupConvert(CLI::App& app);
Command SetupExport(CLI::App& app);
Command SetupCluster(CLI::App& app);
Command SetupGrad(CLI::App& app);
Command SetupRun(CLI::App& app);
Command SetupRules(CLI::App& app);
Command SetupGenerate(CLI::App& app);
Command SetupSolve(CLI::App& app);
Command SetupHelp(CLI::App& app);

}  // namespace sbp
