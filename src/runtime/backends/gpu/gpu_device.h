// GpuDevice: one GPU as one device of the mesh: its two streams, and the news of the run that it takes part in.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/status.h"
#include "gpu/collectives.h"
#include "gpu/gpu.h"
#include "kernel/gpu/gpu_kernels.h"
#include "runtime/processes/failure_detector.h"
#include "runtime/processes/launch.h"

namespace sbp {

// Says the rank and the failure, and ends the process.
[[noreturn]] void EndProcess(int rank, const Status& failure);

// What is done where a run that has failed does not come to its end: calls of a GPU's library may never return, those
// of destructors included.
struct LastResort {
  std::chrono::milliseconds after{20'000};  // the failure; longer than all that is waited for then
  std::function<void(int rank, const Status& failure)> action = EndProcess;
};

// What the devices of one process know of the run: the first failure, here or in another process. A thread of its own
// looks for news, from the other processes and from the collectives under way, and ends the collectives when the run
// has failed: nobody else might be able to, as streams and the threads that feed them wait for each other. Thread-safe.
class GpuNews {
 public:
  // `launch` tells the other processes and hears from them.
  explicit GpuNews(std::shared_ptr<Launch> launch, LastResort last_resort = LastResort());
  // The run's end: its devices and collectives have gone before.
  ~GpuNews();

  int rank() const { return launch_->rank(); }

  // From now until Rest the devices work: where nobody calls Alive for so long, the run fails. A thread of the process
  // may itself be within a call that does not return.
  void Expect(std::chrono::milliseconds patience) { progress_.Expect(patience); }
  void Alive() { progress_.Alive(); }
  void Rest() { progress_.Rest(); }

  // Looks for news no more: before the launch ends.
  void Stop();

  // Fails the run, everywhere. The first failure wins.
  void Abort(const Status& failure);
  // Here alone: so that nobody waits for a group whose other members have failed.
  void EndCollectives();
  Status status() { return failure_.status(); }
  Status failure_elsewhere() { return launch_->failure_elsewhere(); }
  // What is behind a failure of a collective: where another process has failed, that, as soon as it is known.
  Status Explain(const Status& failure);

  // To be looked after from now on. Error: the run has failed already.
  Status Watch(const std::shared_ptr<gpu::Collectives>& collectives);

 private:
  void Look();
  Status PollAll();
  Status LookForProgress() const;
  void GuardEnd(const Status& failure);

  struct Ending {
    std::mutex mutex;
    std::condition_variable changed;
    bool reached = false;
  };

  const std::shared_ptr<Launch> launch_;
  FirstFailure failure_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<gpu::Collectives>> collectives_;  // under mutex_
  std::atomic<bool> ended_{false};
  const LastResort last_resort_;
  const std::shared_ptr<Ending> ending_ = std::make_shared<Ending>();
  Progress progress_;
  std::thread watch_;
};

struct GpuDevice {
  int64_t position = 0;  // in the mesh, for messages
  std::unique_ptr<gpu::Device> device;
  std::unique_ptr<gpu::Stream> compute, communication;
  const GpuKernels* kernels = nullptr;
  std::shared_ptr<GpuNews> news;
  bool allow_tf32 = false, use_graphs = true;  // as in BackendOptions
  // How long one firing may keep the device (BackendOptions::patience).
  std::chrono::milliseconds timeout{300'000};

  // Waits until the event has come, or the run has failed. Errors: the run's failure; the device's; the time is over.
  Status Await(gpu::Event& event) const;
};

}  // namespace sbp
