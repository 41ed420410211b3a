// Rendezvous: a barrier of threads that ends early when the run fails, and reports who is missing when it takes too
// long.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/status.h"
#include "runtime/processes/failure_detector.h"

namespace sbp {

class Rendezvous {
 public:
  // `devices` names the ranks in messages: their positions in the mesh.
  Rendezvous(std::vector<int64_t> devices, std::chrono::milliseconds timeout, std::shared_ptr<FirstFailure> failure);

  // Returns when all ranks have come; what each wrote before is visible to all after. Then all may come again.
  // Errors: the run's failure; a rank did not come in time, which fails the run.
  Status Arrive(int rank);

  int size() const { return static_cast<int>(devices_.size()); }
  FirstFailure& failure() { return *failure_; }

 private:
  Status Wait(int rank, uint32_t round);

  const std::vector<int64_t> devices_;
  const std::chrono::milliseconds timeout_;
  const int spins_;
  const std::shared_ptr<FirstFailure> failure_;
  std::atomic<uint32_t> round_{0};  // complete meetings
  std::atomic<int> arrived_{0};
  std::vector<std::atomic<uint32_t>> last_;  // per rank: the round that it came to last, plus one
  std::mutex mutex_;
  std::condition_variable next_round_;
};

}  // namespace sbp
