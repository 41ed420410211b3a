#include "cli/progress.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "cli/caller.h"

namespace sbp {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kFirst = std::chrono::milliseconds(1000);
constexpr auto kTick = std::chrono::milliseconds(200);

thread_local bool quiet = false;  // asked by the thread that runs the command alone

bool OnTerminal() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

void WriteToTerminal(std::string_view text) {
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // nobody looks any more
}

// A thread of its own: a long step that says nothing shows its time too.
class Ticker {
 public:
  explicit Ticker(std::string what) : what_(std::move(what)) {
    // Signals are for the thread that works (io/file.h holds them back while it writes).
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { Run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  ~Ticker() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    wake_.notify_one();
    thread_.join();
    Wipe();
  }
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  void Tell(const std::string& what) {
    const std::lock_guard lock(mutex_);
    what_ = what;
  }
  void Wipe() {
    const std::lock_guard lock(mutex_);
    if (shown_) WriteToTerminal("\r\033[K");
    shown_ = false;
  }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    auto next = began_ + kFirst;
    while (!wake_.wait_until(lock, next, [this] { return ended_; })) {
      char line[200];
      const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
      std::snprintf(line, sizeof line, "\r\033[K%.*s ... %.0f s", 120, what_.c_str(), seconds);
      WriteToTerminal(line);
      shown_ = true;
      next = Clock::now() + kTick;
    }
  }

  const Clock::time_point began_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable wake_;
  std::string what_;
  bool shown_ = false, ended_ = false;
  std::thread thread_;
};

std::unique_ptr<Ticker> ticker;  // made and ended by the main thread, before and after all others

}  // namespace

void SetQuiet(bool is_quiet) { quiet = is_quiet; }
bool IsQuiet() { return quiet; }

ProgressScope::ProgressScope(const std::string& what) : is_ours_(CurrentCaller() == nullptr) {
  if (!is_ours_) {
    TellProgress(what);
  } else if (!quiet && OnTerminal()) {
    ticker = std::make_unique<Ticker>(what);
  }
}
ProgressScope::~ProgressScope() {
  if (is_ours_) ticker.reset();
}

std::function<void(const std::string&)> ProgressTeller() {
  if (const Caller* const caller = CurrentCaller()) {
    return [tell = quiet ? nullptr : caller->progress](const std::string& what) {
      if (tell) tell(what);
    };
  }
  return [](const std::string& what) {
    if (ticker != nullptr) ticker->Tell(what);
  };
}
void TellProgress(const std::string& what) { ProgressTeller()(what); }
bool ProgressShown() {
  const Caller* const caller = CurrentCaller();
  return caller != nullptr ? !quiet && caller->progress != nullptr : ticker != nullptr;
}
void WipeProgress() {
  if (CurrentCaller() == nullptr && ticker != nullptr) ticker->Wipe();
}

bool ColourOn() {
  const char* refused = std::getenv("NO_COLOR");
  return CurrentCaller() == nullptr && OnTerminal() && (refused == nullptr || *refused == '\0');
}

}  // namespace sbp
