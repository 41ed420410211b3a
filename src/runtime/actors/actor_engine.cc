#include "runtime/actors/actor_engine.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <limits>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>

#include "base/cancelled.h"
#include "base/text.h"
#include "runtime/actors/device_firings.h"
#include "runtime/processes/affinity.h"

namespace sbp {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPoll{50};       // how often a waiting stream asks for failures elsewhere
constexpr std::chrono::milliseconds kProgress{200};  // how often progress is told
// Waking a thread takes some microseconds; so long a stream looks again before it sleeps, where it has a core to
// itself.
constexpr int kSpins = 4000;

// The firing of a failure that another process told; after all others.
constexpr Firing kElsewhere{std::numeric_limits<uint32_t>::max(), 0};

// One device: the mailbox of its actors, which its two threads share.
struct Device {
  Device(int64_t position, const FiringTable& table) : position(position), firings(table) {}

  const int64_t position;
  std::mutex mutex;
  DeviceFirings firings;                             // under `mutex`
  std::array<bool, kNumStreams> busy{};              // under `mutex`
  std::condition_variable ready;                     // there is something for the thread that waits
  std::atomic<uint32_t> messages{0};                 // so many times
  std::array<std::vector<Span>, kNumStreams> spans;  // written by whoever runs the stream
};

class Engine {
 public:
  Engine(const ActorGraph& graph, TaskRunner& runner, const EngineOptions& options)
      : graph_(graph), runner_(runner), options_(options), table_(graph) {
    for (const int64_t position : options.devices) devices_.emplace_back(position, table_);
    std::array<size_t, kNumStreams> firings{};
    for (const Actor& actor : graph.actors) firings[static_cast<size_t>(actor.stream)] += graph.micro_batches;
    for (Device& device : devices_) {
      for (int s = 0; s < kNumStreams; ++s) device.spans[s].reserve(firings[s]);
    }
  }

  EngineResult Run() {
    const std::vector<int> cores = options_.pin_threads ? AllowedCores() : std::vector<int>();
    const size_t available = cores.empty() ? std::thread::hardware_concurrency() : cores.size();
    spins_ = available >= kNumStreams * devices_.size() ? kSpins : 0;
    running_ = static_cast<int>(kNumStreams * devices_.size());
    start_ = Clock::now();
    std::vector<std::thread> threads;
    threads.reserve(kNumStreams * devices_.size());
    try {
      for (size_t d = 0; d < devices_.size(); ++d) {
        for (const Stream stream : {Stream::kCompute, Stream::kCommunication}) {
          threads.emplace_back([this, d, stream, pinned = CoresOfDevice(cores, devices_.size(), d)] {
            PinThread(pinned);
            RunDevice(devices_[d], stream);
            const std::lock_guard lock(end_mutex_);
            if (--running_ == 0) end_.notify_all();
          });
        }
      }
    } catch (const std::system_error& error) {  // those that run must end first
      GiveUp(threads.size(), error.code().message());
    }
    WaitForEnd();
    for (std::thread& thread : threads) thread.join();
    return TakeResult();
  }

 private:
  struct Failure {
    Firing firing;
    int64_t device;
    Status status;
    auto Key() const { return std::tie(firing.micro_batch, firing.actor, device); }
  };

  // There are only so many threads.
  void GiveUp(size_t started, const std::string& why) {
    const size_t wanted = kNumStreams * devices_.size();
    Fail({kElsewhere, 0, RunFailed(StrCat(started, " of ", wanted, " threads could be started: ", why))});
    const std::lock_guard lock(end_mutex_);
    running_ -= static_cast<int>(wanted - started);
  }

  // A thread of a device, which prefers one of its streams.
  void RunDevice(Device& device, Stream preferred) {
    const Stream other = preferred == Stream::kCompute ? Stream::kCommunication : Stream::kCompute;
    std::unique_lock lock(device.mutex);
    while (!failed_.load(std::memory_order_acquire)) {
      if (device.firings.started_all(preferred) && device.firings.started_all(other)) return Wake(device);
      const Stream stream = CanRun(device, preferred) ? preferred : other;
      if (!CanRun(device, stream)) {
        WaitForMessage(device, lock);
        continue;
      }
      const Firing firing = *device.firings.Start(stream);
      device.busy[static_cast<size_t>(stream)] = true;
      if (CanRun(device, stream == preferred ? other : preferred)) Wake(device);
      lock.unlock();
      const bool ok = Fire(device, static_cast<size_t>(stream), firing);
      lock.lock();
      if (!ok) return;
      device.firings.Finish(firing);
      device.busy[static_cast<size_t>(stream)] = false;
    }
  }

  static bool CanRun(const Device& device, Stream stream) {
    return !device.busy[static_cast<size_t>(stream)] && device.firings.CanStart(stream);
  }

  // There is something for the other thread.
  static void Wake(Device& device) {
    device.messages.fetch_add(1, std::memory_order_release);
    device.ready.notify_one();
  }

  // Until the other thread says that there is something to run, or some time has passed.
  void WaitForMessage(Device& device, std::unique_lock<std::mutex>& lock) {
    const uint32_t seen = device.messages.load(std::memory_order_relaxed);
    const auto arrived = [&] {
      return device.messages.load(std::memory_order_acquire) != seen || failed_.load(std::memory_order_acquire);
    };
    if (spins_ > 0) {
      lock.unlock();
      bool found = false;
      for (int i = 0; i < spins_ && !found; ++i) found = arrived();
      lock.lock();
      if (found) return;
    }
    if (device.ready.wait_for(lock, kPoll, arrived)) return;
    lock.unlock();
    const Status elsewhere = runner_.Poll(device.position);
    if (!elsewhere.ok()) Fail({kElsewhere, device.position, elsewhere});
    lock.lock();
  }

  bool Fire(Device& device, size_t stream, Firing firing) {
    Span span{static_cast<uint32_t>(device.position), firing, Now(), 0};
    Status status;
    try {
      status = RunFiring(device.position, firing);
    } catch (const std::bad_alloc&) {  // nothing may leave the thread
      status = RunFailed("out of memory");
    }
    if (!status.ok()) {
      const Status elsewhere = runner_.Poll(device.position);
      const bool theirs = !elsewhere.ok() && elsewhere.message() == status.message();
      Fail({theirs ? kElsewhere : firing, device.position, status});
      return false;
    }
    span.end = Now();
    device.spans[stream].push_back(span);
    done_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

  Status RunFiring(int64_t position, const Firing& firing) {
    if (firing.actor == graph_.inputs_actor()) return runner_.Begin(position, firing.micro_batch);
    if (firing.actor == graph_.outputs_actor()) return runner_.End(position, firing.micro_batch);
    return runner_.Run(position, firing.actor, firing.micro_batch);
  }

  // What came to fail because others had already failed is left out.
  void Fail(const Failure& failure) {
    std::string context = StrCat("device ", failure.device);
    const bool of_a_firing = !(failure.firing == kElsewhere);
    if (of_a_firing) {
      context += StrCat(", ", graph_.actors[failure.firing.actor].name);
      if (graph_.micro_batches > 1) context += StrCat(" of micro-batch ", failure.firing.micro_batch);
    }
    Status abort;
    {
      const std::lock_guard lock(failure_mutex_);
      if (failed_.load(std::memory_order_relaxed) && failure.status.message() == aborted_with_) return;
      Failure named = failure;
      named.status = of_a_firing ? failure.status.WithContext(context) : failure.status;
      if (!first_ || named.Key() < first_->Key()) first_ = named;
      if (failed_.load(std::memory_order_relaxed)) return;
      abort = named.status;
      aborted_with_ = abort.message();
      failed_.store(true, std::memory_order_release);
    }
    runner_.Abort(abort);
    for (Device& device : devices_) {
      const std::lock_guard lock(device.mutex);
      device.ready.notify_all();
    }
  }

  void WaitForEnd() {
    const uint64_t total = devices_.size() * graph_.actors.size() * graph_.micro_batches;
    std::unique_lock lock(end_mutex_);
    bool told = false;
    while (!end_.wait_for(lock, kProgress, [&] { return running_ == 0; })) {
      lock.unlock();
      if (!failed_.load(std::memory_order_relaxed)) {
        if (const Status wanted = RefuseCancelled(options_.cancelled); !wanted.ok()) Fail({kElsewhere, 0, wanted});
      }
      lock.lock();
      const uint64_t done = done_.load(std::memory_order_relaxed);
      if (!options_.progress || done >= total) continue;
      options_.progress(done, total);
      told = true;
    }
    if (told) options_.progress(total, total);
  }

  EngineResult TakeResult() {
    EngineResult result;
    if (first_) result.status = first_->status;
    for (Device& device : devices_) {
      for (const std::vector<Span>& spans : device.spans) {
        result.spans.insert(result.spans.end(), spans.begin(), spans.end());
      }
    }
    for (const Span& span : result.spans) result.seconds = std::max(result.seconds, span.end);
    return result;
  }

  double Now() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  const ActorGraph& graph_;
  TaskRunner& runner_;
  const EngineOptions& options_;
  const FiringTable table_;
  std::deque<Device> devices_;
  int spins_ = 0;
  Clock::time_point start_;
  std::atomic<uint64_t> done_{0};

  std::atomic<bool> failed_{false};
  std::mutex failure_mutex_;
  std::optional<Failure> first_;  // under failure_mutex_, like the next
  std::string aborted_with_;

  std::mutex end_mutex_;
  std::condition_variable end_;
  int running_ = 0;  // threads; under end_mutex_
};

}  // namespace

EngineResult RunActors(const ActorGraph& graph, TaskRunner& runner, const EngineOptions& options) {
  return Engine(graph, runner, options).Run();
}

}  // namespace sbp
