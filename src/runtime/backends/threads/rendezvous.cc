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

Rendezvous::Rendezvous(std::vector<int64_t> devices, std::chrono::milliseconds timeout,
                       std::shared_ptr<FirstFailure> failure)
    : devices_(std::move(devices)),
      timeout_(timeout),
      spins_(devices_.size() <= std::thread::hardware_concurrency() ? kSpins : 0),
      failure_(std::move(failure)),
      last_(devices_.size()) {}

Status Rendezvous::Arrive(int rank) {
  if (failure_->failed()) return failure_->status();
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
    if (failure_->failed()) return failure_->status();
    if (Clock::now() < deadline) continue;
    std::vector<int64_t> missing;
    for (size_t r = 0; r < devices_.size(); ++r) {
      if (last_[r].load(std::memory_order_relaxed) != round + 1) missing.push_back(devices_[r]);
    }
    failure_->Set(Status(Code::kRunFailed, StrCat("device ", devices_[rank], " waited ", timeout_.count(),
                                                  " ms in a collective for device ", Join(missing, ", "))));
    return failure_->status();
  }
  return OkStatus();
}

}  // namespace sbp
