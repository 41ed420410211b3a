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

}  // namespace sbp
