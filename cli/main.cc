// sbp-plan: the command line, as a process.
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <csignal>
#include <limits>

#include "cli/program.h"

namespace sbp {
namespace {

// A file that is opened must not take the place of a closed stdin, stdout or stderr: what is written there fails.
void KeepStandardStreams() {
  constexpr int kStandard[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
  for (const int fd : kStandard) {
    if (fcntl(fd, F_GETFD) < 0) (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
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
  sbp::KeepStandardStreams();
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the shell's limit is a write that fails, not an end
  const int code = sbp::RunCommandLine(argc, argv);
  if (code == sbp::kInterrupted) std::raise(SIGINT);  // so that the caller sees the signal, as for any other program
  return code;
}
