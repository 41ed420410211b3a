// Ctrl-C. Where nothing of ours asks, it ends the process at once; a file that is being written is finished first
// (io/file.h). While a planner runs, the first one asks it to stop and the second one ends the process.
#pragma once

namespace sbp {

// Catches the first Ctrl-C of its lifetime, for code that asks Interrupted() now and then. One at a time.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  void (*before_)(int);
};
bool Interrupted();

}  // namespace sbp
