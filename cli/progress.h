// What goes on, on one line of the terminal: shown from the second second on, with the time so far, and wiped away at
// the end. Nothing where stderr is no terminal, or the user wants quiet. A program that calls commands as functions
// (cli/caller.h) is told at once, and shows what it likes.
#pragma once

#include <functional>
#include <string>

namespace sbp {

// --quiet: no progress and no notes; warnings and errors stay. Before any work.
void SetQuiet(bool is_quiet);
bool IsQuiet();

// From the beginning of a command to its end. One at a time.
class ProgressScope {
 public:
  explicit ProgressScope(const std::string& what);
  ~ProgressScope();
  ProgressScope(const ProgressScope&) = delete;
  ProgressScope& operator=(const ProgressScope&) = delete;

 private:
  bool is_ours_;
};

// What goes on from now on: "strategy", "measuring MatMul: 3 of 40". Cheap; nothing outside a scope.
void TellProgress(const std::string& what);
// The same, to be called from any thread while the command runs.
std::function<void(const std::string& what)> ProgressTeller();
// Is anything shown? What is costly to tell need not be told otherwise.
bool ProgressShown();
// Wipes the line away, so that something else can be written; the next tick writes it again.
void WipeProgress();

// May text on stderr be coloured? A terminal that can, and NO_COLOR is not set (https://no-color.org).
bool ColourOn();

}  // namespace sbp
