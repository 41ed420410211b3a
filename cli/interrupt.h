// Ctrl-C. Where nothing of ours asks, it ends the process at once; a file that is being written is finished first
// (io/file.h). While a planner runs, the first one asks it to stop and the second one ends the process. A program that
// calls commands as functions says itself when one is to end, and its signals are its own.
#pragma once

#include <functional>

namespace sbp {

// Catches the first Ctrl-C of its lifetime, for code that asks Interrupted() now and then. One at a time.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  bool catches_;
  void (*before_)(int) = nullptr;
};
bool Interrupted();
// The same, to be asked from any thread while the command runs.
std::function<bool()> InterruptAsker();

}  // namespace sbp
