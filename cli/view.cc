// view: a plan, or two side by side, in a browser.
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <thread>

#include "api/plan_file.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/caller.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/plan_pages.h"
#include "io/file.h"
#include "plan/plan.h"

extern char** environ;  // NOLINT: as POSIX has it

namespace sbp {
namespace {

struct ViewFlags {
  std::string plan, after;
  std::string out;
  bool no_open = false;
};

#ifdef __APPLE__
constexpr const char* kOpener = "open";
bool HasDisplay() { return true; }
#else
constexpr const char* kOpener = "xdg-open";
bool HasDisplay() {
  for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return true;
  }
  return false;
}
#endif

// PLAN.html in a folder of its own, which stays: a browser reads it after we ended.
Result<std::string> TemporaryPage(const std::string& plan) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (error) return BadInput(StrCat("no folder for temporary files: ", error.message(), "; -o says where to write"));
  std::string made = (folder / "sbp-plan-XXXXXX").string();
  if (mkdtemp(made.data()) == nullptr) {
    return BadInput(StrCat(folder.string(), ": ", std::strerror(errno), "; -o says where to write"));
  }
  const std::string stem = plan == "-" ? "plan" : std::filesystem::path(plan).stem().string();
  return (std::filesystem::path(made) / (stem + ".html")).string();
}

// False: nothing here opens pages. What the opener prints goes nowhere. Some end when they have handed the file on,
// others with the browser: what lasts longer than an error would is left alone.
bool Open(const std::string& path) {
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0) return false;
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0);
  }
  std::string program = kOpener, argument = path;
  char* arguments[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  const int failed = posix_spawnp(&child, kOpener, &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return false;
  constexpr int kWaits = 40;
  constexpr auto kWait = std::chrono::milliseconds(50);
  for (int i = 0; i < kWaits; ++i) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    std::this_thread::sleep_for(kWait);
  }
  return true;
}

Result<std::string> MakePage(const ViewFlags& flags) {
  SBP_ASSIGN_OR_RETURN(const Plan plan, ReadPlanFile(flags.plan));
  if (flags.after.empty()) return PageOf(plan, flags.plan);
  SBP_ASSIGN_OR_RETURN(const Plan after, ReadPlanFile(flags.after));
  return PageOf(plan, flags.plan, after, flags.after);
}

Status View(const ViewFlags& flags) {
  const bool is_call = CurrentCaller() != nullptr;  // of a program, which alone says what it starts and leaves behind
  if (is_call && flags.out.empty()) return UsageError("expected -o FILE.html: a call leaves no temporary files");
  if (flags.plan == "-" && flags.after == "-") return UsageError("only one of the two plans can be stdin");
  if (!flags.out.empty()) SBP_RETURN_IF_ERROR(CheckWritable(flags.out));
  SBP_ASSIGN_OR_RETURN(const std::string page, MakePage(flags));
  std::string path = flags.out;
  if (path.empty()) {
    SBP_ASSIGN_OR_RETURN(path, TemporaryPage(flags.plan));
  }
  SBP_RETURN_IF_ERROR(WriteFile(path, page));
  if (path == "-") return OkStatus();
  if (is_call) return Print(path);
  const std::string whole = std::filesystem::absolute(path).string();  // an opener may start elsewhere
  if (!flags.no_open && HasDisplay() && !Open(whole)) Note(StrCat(kOpener, " does not open it; open it in a browser"));
  return Print(path);
}

}  // namespace

Command SetupView(CLI::App& app) {
  auto flags = std::make_shared<ViewFlags>();
  app.add_option("plan", flags->plan, "a plan; - is stdin")->required()->type_name("PLAN");
  app.add_option("after", flags->after, "another one, to be shown beside the first with what differs; - is stdin")
      ->type_name("PLAN");
  app.add_option("-o,--output", flags->out, "where to write the page, else to a temporary file; - is stdout")
      ->type_name("FILE.html");
  app.add_flag("--no-open", flags->no_open, "write the page and print where it is, without opening a browser");
  return [flags] { return View(*flags); };
}

}  // namespace sbp
