// sbp-plan: the command line. Parses flags, runs one command, turns a Status into a message and an exit code.
#include <malloc.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/usage.h"

namespace sbp {
namespace {

constexpr const char* kFooter =
    "Exit codes: 0 good; 1 a difference, violation or mismatch; 2 wrong usage; 3 bad input; 4 no plan satisfies the "
    "pins\n"
    "and limits; 5 a run failed; 70 a defect of ours.\n"
    "\nFirst steps:\n"
    "  sbp-plan infer model.onnx --mesh data=2,model=4 -o plan.json\n"
    "  sbp-plan render plan.json -o plan.svg\n"
    "  sbp-plan explain plan.json OP\n";

int Report(const Status& status) {
  if (status.ok()) return 0;
  if (Interrupted()) {
    std::cerr << "\nsbp-plan: interrupted; no output was written\n";
    std::raise(SIGINT);  // so that the caller sees the signal, as for any other program
  }
  if (!status.message().empty()) Note("error: " + status.message());
  if (status.code() == Code::kDefect) {
    std::cerr << "This is a defect of sbp-plan. Please report it with the command, the version (" << SBP_VERSION
              << ") and, if you can, the input.\n";
  }
  return static_cast<int>(status.code());
}

int Run(int argc, char** argv) {
  CLI::App app(
      "A sharding planner: op graph in, plan out. Which device holds which slice of each tensor, where communication\n"
      "appears and why, what it costs in time, bytes and memory.",
      "sbp-plan");
  app.set_version_flag("--version", std::string("sbp-plan ") + SBP_VERSION);
  app.require_subcommand(1);
  app.footer(kFooter);
  app.get_formatter()->column_width(34);

  Command selected;
  for (const CommandRow& row : AllCommands()) {
    CLI::App* sub = app.add_subcommand(std::string(row.name), std::string(row.summary));
    sub->footer("Examples:\n" + std::string(row.examples));
    sub->callback([&selected, run = row.setup(*sub)] { selected = run; });
  }
  if (argc == 1) {
    std::cout << app.help();
    return static_cast<int>(Code::kUsage);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e, std::cout, std::cerr);  // --help, --version
    return Report(ExplainUsage(app, e));
  }
  return Report(selected());
}

}  // namespace
}  // namespace sbp

int main(int argc, char** argv) {
#ifdef __GLIBC__
  // One stage's memory serves the next: to return pages and fault them in again took a sixth of a 100,000-op run.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most that glibc takes
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_TOP_PAD, 64 << 20);
#endif
  // Nothing of ours throws; the standard library may, when memory is gone or a defect of ours trips it.
  try {
    return sbp::Run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("error: out of memory\n", stderr);
    return static_cast<int>(sbp::Code::kBadInput);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\nThis is a defect of sbp-plan; please report it.\n", e.what());
    return static_cast<int>(sbp::Code::kDefect);
  }
}
