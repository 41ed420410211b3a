#include "runtime/backends/threads/rendezvous.h"

#include <thread>
#include <utility>

#include "base/text.h"

namespace sbp {
namespace {

using Clock = std::chrono::steady_clock;

// Waking a thread takes some microseconds; so long a rank looks again before it sleeps, where every rank has a core.
constexpr int kSpins = 2000;
constexpr std::chrono::milliseconds kLook{20};  // how often a sleeping rank looks for failures

}  // namespace

void AbortState::Abort(const Status& failure) {
  const std::lock_guard lock(mutex_);
  if (aborted_.load(std::memory_order_relaxed)) return;
  failure_ = failure;
  aborted_.store(true, std::memory_order_release);
}

Status AbortState::status() const {
  if (!aborted()) return OkStatus();
  const std::lock_guard lock(mutex_);
  return failure_;
}

Rendezvous::Rendezvous(std::vector<int64_t> devices, std::chrono::milliseconds timeout,
                       std::shared_ptr<AbortState> abort)
    : devices_(std::move(devices)),
      timeout_(timeout),
      spins_(devices_.size() <= std::thread::hardware_concurrency() ? kSpins : 0),
      abort_(std::move(abort)),
      last_(devices_.size()) {}

Status Rendezvous::Arrive(int rank) {
  if (abort_->aborted()) return abort_->status();
  const uint32_t round = round_.load(std::memory_order_acquire);
  last_[static_cast<size_t>(rank)].store(round + 1, std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 < size()) return Wait(rank, round);
  arrived_.store(0, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    round_.store(round + 1, std::memory_order_release);
  }
  next_round_.notify_all();
  return OkStatus();
}

Status Rendezvous::Wait(int rank, uint32_t round) {
  const auto met = [&] { return round_.load(std::memory_order_acquire) != round; };
  for (int i = 0; i < spins_; ++i) {
    if (met()) return OkStatus();
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  const Clock::time_point deadline = Clock::now() + timeout_;
  std::unique_lock lock(mutex_);
  while (!next_round_.wait_for(lock, kLook, met)) {
    if (abort_->aborted()) return abort_->status();
    if (Clock::now() < deadline) continue;
    std::vector<int64_t> missing;
    for (size_t r = 0; r < devices_.size(); ++r) {
      if (last_[r].load(std::memory_order_relaxed) != round + 1) missing.push_back(devices_[r]);
    }
    abort_->Abort(Status(Code::kRunFailed, StrCat("device ", devices_[rank], " waited ", timeout_.count(),
                                                  " ms in a collective for device ", Join(missing, ", "))));
    return abort_->status();
  }
  return OkStatus();
}

}  // namespace sbp
