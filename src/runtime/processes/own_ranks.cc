#include "runtime/processes/own_ranks.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "runtime/processes/tcp/mac.h"
#include "runtime/processes/tcp/socket.h"

extern char** environ;

namespace sbp {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLook{50};
constexpr std::chrono::seconds kGrace{2};  // after a failure or a signal: for all to end by themselves
constexpr size_t kSecretBytes = 32, kLongestLine = 4096;
constexpr int kHighestPort = 65'000;
constexpr std::array kForwarded = {SIGINT, SIGTERM, SIGHUP};

volatile std::sig_atomic_t asked_to_end = 0;  // the last signal
void OnSignal(int number) { asked_to_end = number; }

Status OwnError(std::string_view what) { return RunFailed(StrCat(what, ": ", std::strerror(errno))); }

struct Rank {
  pid_t process = -1;
  int said = -1;     // the end of its standard error; -1: it has ours, or has closed it
  std::string line;  // that is not whole yet
  bool ended = false;
  int status = 0;  // as waitpid's
};

// Ready before the fork: afterwards a process may call little.
struct Words {
  std::vector<std::string> texts;
  std::vector<char*> pointers;
  void Finish() {
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
  }
};

Words CommandLine() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Words words;
  for (size_t at = 0; at < all.size();) {
    words.texts.push_back(all.substr(at, all.find('\0', at) - at));
    at += words.texts.back().size() + 1;
  }
  words.Finish();
  return words;
}

Words Environment(int rank, int count, const Socket& listener, const std::string& secret) {
  Words words;
  const std::vector<std::string> own = {StrCat("RANK=", rank),
                                        StrCat("WORLD_SIZE=", count),
                                        StrCat("LOCAL_WORLD_SIZE=", count),
                                        "MASTER_ADDR=127.0.0.1",
                                        StrCat("MASTER_PORT=", listener.port()),
                                        StrCat("SBP_RUN_SECRET=", secret),
                                        StrCat(kOwnRanks, "=1"),
                                        StrCat(kOwnListener, "=", listener.descriptor())};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    if (std::none_of(own.begin(), own.end(), [&](const std::string& word) { return word.starts_with(name); }))
      words.texts.emplace_back(text);
  }
  words.texts.insert(words.texts.end(), own.begin(), own.end());
  words.Finish();
  return words;
}

// In the new process; returns never.
[[noreturn]] void Become(bool first, pid_t parent, int listener, int said, Words& command, Words& environment) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(static_cast<int>(Code::kRunFailed));  // it has ended meanwhile
  if (first) {
    fcntl(listener, F_SETFD, 0);
  } else {
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    dup2(said, STDERR_FILENO);
  }
  execve("/proc/self/exe", command.pointers.data(), environment.pointers.data());
  _exit(static_cast<int>(Code::kRunFailed));
}

class OwnRanks {
 public:
  Status Start(int count) {
    for (size_t i = 0; i < kForwarded.size(); ++i) {
      struct sigaction action {};
      action.sa_handler = OnSignal;
      sigaction(kForwarded[i], &action, &before_[i]);
      if (before_[i].sa_handler == SIG_IGN) sigaction(kForwarded[i], &before_[i], nullptr);  // nobody wants us to end
    }
    Socket listener;
    while (!listener.open() || listener.port() > kHighestPort) {
      SBP_ASSIGN_OR_RETURN(listener, Socket::Listen("127.0.0.1", 0));
    }
    SBP_ASSIGN_OR_RETURN(const std::string random, RandomBytes(kSecretBytes));
    Words command = CommandLine();
    const pid_t own = getpid();
    for (int r = 0; r < count; ++r) {
      Words environment = Environment(r, count, listener, HexOf(random));
      int pipe[2] = {-1, -1};
      if (r > 0 && pipe2(pipe, O_CLOEXEC) != 0) return OwnError("pipe");
      const pid_t process = fork();
      if (process == 0) Become(r == 0, own, listener.descriptor(), pipe[1], command, environment);
      if (pipe[1] >= 0) close(pipe[1]);
      if (process < 0) return OwnError("fork");
      ranks_.push_back({process, pipe[0], "", false, 0});
    }
    return OkStatus();
  }

  ~OwnRanks() {
    End(SIGKILL);
    for (Rank& rank : ranks_) {
      if (!rank.ended) waitpid(rank.process, &rank.status, 0);
      if (rank.said >= 0) close(rank.said);
    }
    for (size_t i = 0; i < kForwarded.size(); ++i) sigaction(kForwarded[i], &before_[i], nullptr);
  }

  int Wait() {
    Clock::time_point deadline = Clock::time_point::max();
    int forwarded = 0;
    while (!AllEnded()) {
      Listen();
      for (Rank& rank : ranks_) {
        if (rank.ended || waitpid(rank.process, &rank.status, WNOHANG) != rank.process) continue;
        rank.ended = true;
        if (rank.status != 0) deadline = std::min(deadline, Clock::now() + kGrace);
      }
      if (asked_to_end != 0) {  // whoever asks twice means it
        End(forwarded == 0 ? asked_to_end : SIGKILL);
        forwarded = asked_to_end;
        asked_to_end = 0;
        deadline = std::min(deadline, Clock::now() + kGrace);
      }
      if (Clock::now() > deadline) {
        for (size_t r = 0; r < ranks_.size(); ++r) {
          if (!ranks_[r].ended) Say(StrCat("rank ", r, " does not end, and is ended"));
        }
        End(SIGKILL);
        deadline = Clock::time_point::max();
      }
    }
    Listen();
    if (forwarded != 0) {  // so that the caller sees the signal, as of any other program
      std::signal(forwarded, SIG_DFL);
      std::raise(forwarded);
    }
    return Result();
  }

 private:
  static void Say(const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }

  bool AllEnded() const {
    return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.ended; });
  }
  void End(int number) {
    for (const Rank& rank : ranks_) {
      if (!rank.ended) kill(rank.process, number);
    }
  }

  // Hands on what the ranks but the first say, by the line.
  void Listen() {
    std::vector<pollfd> entries;
    for (const Rank& rank : ranks_) entries.push_back({rank.said, POLLIN, 0});  // negative ones are passed over
    poll(entries.data(), entries.size(), static_cast<int>(kLook.count()));
    for (size_t r = 0; r < ranks_.size(); ++r) {
      Rank& rank = ranks_[r];
      if (rank.said < 0 || entries[r].revents == 0) continue;
      char bytes[kLongestLine];
      const ssize_t got = read(rank.said, bytes, sizeof bytes);
      if (got < 0 && errno == EINTR) continue;
      if (got > 0) rank.line.append(bytes, static_cast<size_t>(got));
      const bool closed = got <= 0;
      size_t end;
      while ((end = rank.line.find('\n')) != std::string::npos || rank.line.size() > kLongestLine ||
             (closed && !rank.line.empty())) {
        Say(StrCat("rank ", r, ": ", rank.line.substr(0, end)));
        rank.line.erase(0, end == std::string::npos ? end : end + 1);
      }
      if (!closed) continue;
      close(rank.said);
      rank.said = -1;
    }
  }

  int Result() const {
    int code = 0;
    for (size_t r = ranks_.size(); r-- > 0;) {
      const int status = ranks_[r].status;
      if (WIFSIGNALED(status)) {
        Say(StrCat("error: rank ", r, " was ended by signal ", WTERMSIG(status), " (", strsignal(WTERMSIG(status)),
                   ")"));
        code = static_cast<int>(Code::kRunFailed);
      } else if (WEXITSTATUS(status) != 0) {
        code = WEXITSTATUS(status);
      }
    }
    return code;
  }

  std::array<struct sigaction, kForwarded.size()> before_{};
  std::vector<Rank> ranks_;
};

}  // namespace

Result<int> RunOwnRanks(int count) {
  OwnRanks ranks;
  SBP_RETURN_IF_ERROR(ranks.Start(count));
  return ranks.Wait();
}

}  // namespace sbp
