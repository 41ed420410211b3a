#include "cli/interrupt.h"

#include <csignal>

#include "cli/caller.h"

namespace sbp {
namespace {

volatile std::sig_atomic_t interrupted = 0;  // a signal handler can reach nothing else

void OnInterrupt(int) {
  interrupted = 1;
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

InterruptScope::InterruptScope() : catches_(CurrentCaller() == nullptr) {
  if (!catches_) return;
  before_ = std::signal(SIGINT, OnInterrupt);
  if (before_ == SIG_IGN) std::signal(SIGINT, SIG_IGN);  // who started us does not want us to stop
}
InterruptScope::~InterruptScope() {
  if (catches_) std::signal(SIGINT, before_);
}

bool Interrupted() { return InterruptAsker()(); }
std::function<bool()> InterruptAsker() {
  if (const Caller* const caller = CurrentCaller()) return caller->cancelled;
  return [] { return interrupted != 0; };
}

}  // namespace sbp
