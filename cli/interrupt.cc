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

void InstallInterruptHandler() { std::signal(SIGINT, OnInterrupt); }
bool Interrupted() { return interrupted != 0; }

}  // namespace sbp
