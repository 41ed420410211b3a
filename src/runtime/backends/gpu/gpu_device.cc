#include "runtime/backends/gpu/gpu_device.h"

#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "base/text.h"

namespace sbp {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kNewsEvery{20};  // how often the watch looks for news
// A process that ends takes its connections with it before it is known to have ended.
constexpr std::chrono::seconds kHearsay{1};
constexpr std::chrono::seconds kEnding{4};  // for all collectives to be ended

}  // namespace

void EndProcess(int rank, const Status& failure) {
  std::fprintf(stderr, "error: rank %d: %s; its GPU does not end what was started, so the process is ended\n", rank,
               failure.message().c_str());
  _exit(static_cast<int>(Code::kRunFailed));
}

GpuNews::GpuNews(std::shared_ptr<Launch> launch, LastResort last_resort)
    : launch_(std::move(launch)), last_resort_(std::move(last_resort)) {
  watch_ = std::thread([this] {
    while (!ended_.load(std::memory_order_acquire) && !failure_.failed()) {
      Look();
      std::this_thread::sleep_for(kNewsEvery);
    }
  });
}

void GpuNews::Stop() {
  ended_.store(true, std::memory_order_release);
  if (watch_.joinable()) watch_.join();
}

GpuNews::~GpuNews() {
  Stop();
  const std::lock_guard lock(ending_->mutex);
  ending_->reached = true;
  ending_->changed.notify_all();
}

// A thread that this may leave behind.
void GpuNews::GuardEnd(const Status& failure) {
  std::thread([ending = ending_, resort = last_resort_, rank = rank(), failure] {
    std::unique_lock lock(ending->mutex);
    if (!ending->changed.wait_for(lock, resort.after, [&] { return ending->reached; })) resort.action(rank, failure);
  }).detach();
}

Status GpuNews::LookForProgress() const {
  if (!progress_.Overdue()) return OkStatus();
  return RunFailed(StrCat("rank ", rank(), ": no GPU of it has started or ended anything for ",
                          progress_.patience_seconds(), " s (--patience allows longer)"));
}

void GpuNews::Look() {
  Status news = launch_->status();
  if (news.ok()) news = LookForProgress();
  if (news.ok()) {
    news = PollAll();
    if (!news.ok()) news = Explain(news);
  }
  if (!news.ok()) Abort(news);
}

Status GpuNews::Explain(const Status& failure) {
  const Clock::time_point deadline = Clock::now() + kHearsay;
  while (Clock::now() < deadline) {
    Status known = failure_.failed() ? status() : launch_->status();
    if (!known.ok()) return known;
    std::this_thread::sleep_for(kNewsEvery);
  }
  return failure;
}

Status GpuNews::PollAll() {
  const std::lock_guard lock(mutex_);
  for (const std::shared_ptr<gpu::Collectives>& collectives : collectives_) {
    SBP_RETURN_IF_ERROR(collectives->Poll().WithContext(StrCat("rank ", launch_->rank())));
  }
  return OkStatus();
}

void GpuNews::Abort(const Status& failure) {
  if (!failure_.Set(failure)) return;
  GuardEnd(failure);
  launch_->Abort(failure);
  EndCollectives();
}

// All at once: to end one may take until another one, whose kernel stands before its own, has been ended.
void GpuNews::EndCollectives() {
  struct AllEnding {
    std::mutex mutex;
    std::condition_variable changed;
    size_t left = 0;
  };
  std::vector<std::shared_ptr<gpu::Collectives>> all;
  {
    const std::lock_guard lock(mutex_);
    all = collectives_;
  }
  const auto ending = std::make_shared<AllEnding>();
  ending->left = all.size();
  for (const std::shared_ptr<gpu::Collectives>& collectives : all) {
    std::thread([collectives, ending] {
      collectives->Abort();
      const std::lock_guard lock(ending->mutex);
      --ending->left;
      ending->changed.notify_all();
    }).detach();
  }
  std::unique_lock lock(ending->mutex);
  ending->changed.wait_for(lock, kEnding, [&] { return ending->left == 0; });
}

Status GpuNews::Watch(const std::shared_ptr<gpu::Collectives>& collectives) {
  const std::lock_guard lock(mutex_);
  collectives_.push_back(collectives);
  return failure_.status();
}

Status GpuDevice::Await(gpu::Event& event) const {
  constexpr int kEager = 2000;  // looks before the thread begins to sleep in between
  constexpr std::chrono::microseconds kNap{20};
  const Clock::time_point deadline = Clock::now() + timeout;
  for (int64_t round = 0;; ++round) {
    SBP_ASSIGN_OR_RETURN(const bool done, event.IsDone());
    if (done) return OkStatus();
    SBP_RETURN_IF_ERROR(news->status());
    if (round < kEager) continue;
    std::this_thread::sleep_for(kNap);
    if (Clock::now() < deadline) continue;
    Status failure = RunFailed(StrCat("rank ", news->rank(), ": device ", position, " was not done after ",
                                      timeout.count() / 1000, " s (--patience allows longer)"));
    news->Abort(failure);
    return failure;
  }
}

}  // namespace sbp
