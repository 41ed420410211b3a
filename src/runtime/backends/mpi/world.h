// World: what the communicators of one process share: the news that some rank has failed, and waiting for messages.
// Every rank gives the next one a sign of life now and then and listens to the one before it, so that a rank that is
// stopped, or whose machine is gone, is known within seconds.
#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/status.h"
#include "runtime/processes/failure_detector.h"

namespace sbp {

// An error of an MPI call as a status that names the call.
Status MpiError(int code, std::string_view call);

class World {
 public:
  World();  // MPI is initialised; called by all ranks
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Fails the run: tells every other rank once. Thread-safe, like all that follows.
  void Abort(const Status& failure);
  // The first failure that this rank knows of. Looks for news.
  Status status();
  // The same, if another rank told it.
  Status failure_elsewhere();

  // Until all requests are done. Errors: the failure of some rank; the time is over, which fails the run with the
  // names of the `peers` (per request, ranks of the world) that were waited for. Then requests are cancelled; those of
  // the run's buffers that MPI may still hold must stay.
  Status Wait(std::vector<MPI_Request>& requests, const std::vector<int>& peers, std::chrono::milliseconds timeout);

  // This process ends by itself, well or not.
  void Finishing() { finishing_.store(true); }
  // No more signs of life. Called by all ranks when they know that all have come to their end, before MPI's.
  void EndPulse();

  // Keeps the buffer of a failed exchange until the process ends: MPI may still write to it.
  void Abandon(std::unique_ptr<std::byte[]> buffer);

 private:
  void Look();                                // for a failure message
  void Tell();                                // every other rank, of the failure
  void Pulse();                               // the thread
  bool HearPulse();                           // has the rank before given a sign since the last time?
  static void EndAll(const Status& failure);  // all processes; says the failure
  void StopPulse();

  int rank_ = 0, size_ = 1;
  MPI_Comm news_ = MPI_COMM_NULL;  // a world of its own: never mixed up with data
  FirstFailure failure_;
  std::mutex mutex_;
  std::deque<std::string> sent_;  // texts that are on their way
  std::vector<MPI_Request> sends_;
  std::vector<std::unique_ptr<std::byte[]>> abandoned_;

  MPI_Comm life_ = MPI_COMM_NULL;
  MPI_Request beat_ = MPI_REQUEST_NULL;  // the last sign, the thread's
  std::atomic<bool> finishing_{false};
  std::condition_variable ending_;
  bool ended_ = false;  // under mutex_
  std::thread pulse_;
};

}  // namespace sbp
