// GpuDevice: one GPU as one device of the mesh: its two streams, and the news of the run that it takes part in.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/status.h"
#include "gpu/collectives.h"
#include "gpu/gpu.h"
#include "kernel/gpu/gpu_kernels.h"
#include "runtime/launch.h"

namespace sbp {

// What the devices of one process know of the run: the first failure, here or in another process. A thread of its own
// looks for news, from the other processes and from the collectives under way, and ends the collectives when the run
// has failed: nobody else might be able to, as streams and the threads that feed them wait for each other. Thread-safe.
class GpuNews {
 public:
  // `launch` tells the other processes and hears from them.
  explicit GpuNews(std::shared_ptr<Launch> launch);
  ~GpuNews() { Stop(); }

  // Looks for news no more: before the launch ends.
  void Stop();

  // Fails the run, everywhere. The first failure wins.
  void Abort(const Status& failure);
  // Here alone: so that nobody waits for a group whose other members have failed.
  void EndCollectives();
  Status status();
  Status failure_elsewhere() { return launch_->failure_elsewhere(); }
  // What is behind a failure of a collective: where another process has failed, that, as soon as it is known.
  Status Explain(const Status& failure);

  // To be looked after from now on. Error: the run has failed already.
  Status Watch(const std::shared_ptr<gpu::Collectives>& collectives);

 private:
  void Look();
  Status PollAll();

  const std::shared_ptr<Launch> launch_;
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  Status failure_;                                              // under mutex_
  std::vector<std::shared_ptr<gpu::Collectives>> collectives_;  // under mutex_
  std::atomic<bool> ended_{false};
  std::thread watch_;
};

struct GpuDevice {
  int64_t position = 0;  // in the mesh, for messages
  std::unique_ptr<gpu::Device> device;
  std::unique_ptr<gpu::Stream> compute, communication;
  const GpuKernels* kernels = nullptr;
  std::shared_ptr<GpuNews> news;
  bool allow_tf32 = false, use_graphs = true;  // as in BackendOptions
  // How long one firing may keep the device: longer than any one task takes.
  std::chrono::milliseconds timeout{300'000};

  // Waits until the event has come, or the run has failed. Errors: the run's failure; the device's; the time is over.
  Status Await(gpu::Event& event) const;
};

}  // namespace sbp
