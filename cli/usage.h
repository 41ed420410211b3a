// What is wrong with a command line, with the nearest valid name.
#pragma once

#include "base/status.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace sbp {

// `error` as CLI11 raised it while `app` parsed; it does not say which names would have been right.
Status ExplainUsage(CLI::App& app, const CLI::ParseError& error);

// Error (kUsage): a file that the parsed command is to write is one of its arguments. A plan in the place of its model,
// or a checkpoint in that of its plan, was hardly meant. `convert` has no such flag: its two arguments may be one file.
Status KeepArguments(const CLI::App& command);

}  // namespace sbp
