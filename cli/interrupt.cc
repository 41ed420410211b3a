#include "cli/interrupt.h"

#include <csignal>

namespace sbp {
namespace {

volatile std::sig_atomic_t interrupted = 0;  // a signal handler can reach nothing else

void OnInterrupt(int) {
  interrupted = 1;
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

InterruptScope::InterruptScope() : before_(std::signal(SIGINT, OnInterrupt)) {
  if (before_ == SIG_IGN) std::signal(SIGINT, SIG_IGN);  // who started us does not want us to stop
}
InterruptScope::~InterruptScope() { std::signal(SIGINT, before_); }
bool Interrupted() { return interrupted != 0; }

}  // namespace sbp
