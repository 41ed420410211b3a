#include "cli/output.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <string>

#include "base/text.h"
#include "cli/caller.h"
#include "cli/progress.h"
#include "io/call_files.h"

namespace sbp {

void AddFormatFlag(CLI::App& app, OutputFlags& flags) {
  app.add_option("--format", flags.format, "text, or json: one document on stdout")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
}

void AddNotationFlag(CLI::App& app, OutputFlags& flags) {
  app.add_option("--notation", flags.notation, "how layouts are spelled: (S(0), B), or dims_mapping [0,-1]")
      ->check(CLI::IsMember({"sbp", "dims-mapping"}))
      ->capture_default_str();
}

std::string RefuseNegative(const std::string& text) {
  return text.starts_with('-') ? StrCat(Quote(text), " is negative") : std::string();
}

void Say(std::string_view text) {
  WipeProgress();
  if (const Caller* const caller = CurrentCaller()) {
    caller->chatter(text);
  } else {
    std::cerr << text;
  }
}

Status Print(std::string_view text) {
  if (CallFiles* const call = CurrentCallFiles()) {
    call->output += text;
    if (text.empty() || text.back() != '\n') call->output += '\n';
    return OkStatus();
  }
  WipeProgress();
  errno = 0;
  std::cout << text;
  if (text.empty() || text.back() != '\n') std::cout << '\n';
  std::cout.flush();
  if (std::cout) return OkStatus();
  return BadInput(StrCat("cannot write to stdout", errno != 0 ? StrCat(": ", std::strerror(errno)) : ""));
}

// Names in files may hold anything; a terminal must not obey it.
void Note(std::string_view text) {
  const bool is_error = text.starts_with("error:"), is_warning = text.starts_with("warning:");
  if (IsQuiet() && !is_error && !is_warning) return;
  std::string shown;
  if ((is_error || is_warning) && ColourOn()) {
    const size_t end = text.find(':') + 1;
    shown = StrCat(is_error ? "\033[1;31m" : "\033[1;33m", text.substr(0, end), "\033[0m");
    text.remove_prefix(end);
  }
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool obeyed = (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f;
    shown += obeyed ? '?' : c;
  }
  shown += '\n';
  Say(shown);  // one write: mpirun joins the lines of all ranks
}

}  // namespace sbp
