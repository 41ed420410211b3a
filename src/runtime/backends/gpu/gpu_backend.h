// GpuBackend: GPUs as the devices of a mesh: all of this machine's in one process, or one process a device, started by
// mpirun or torchrun. What a GPU is comes from outside: CUDA's for users (gpu/cuda_backend.cc), memory of the process
// for tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "gpu/collectives.h"
#include "gpu/gpu.h"
#include "kernel/gpu/gpu_kernels.h"
#include "runtime/actors/actor_engine.h"
#include "runtime/actors/actor_graph.h"
#include "runtime/backends/backend.h"
#include "runtime/backends/gpu/gpu_device.h"
#include "runtime/backends/gpu/gpu_runtime.h"
#include "runtime/exchange/communicator.h"
#include "runtime/execute/device_runtime.h"
#include "runtime/processes/launch.h"
#include "runtime/processes/machine.h"
#include "sbp/mesh.h"

namespace sbp {

// The GPUs that this process may use, and how their groups come together.
class GpuPlatform {
 public:
  virtual ~GpuPlatform() = default;
  virtual std::string_view name() const = 0;  // the backend's: "cuda"
  // Error (kUsage): not in this build, with what to install; (kRunFailed): no driver.
  virtual Result<int> CountDevices() = 0;
  virtual Result<std::unique_ptr<gpu::Device>> Open(int ordinal) = 0;
  // What tells this GPU from all others, for processes that see it by different ordinals.
  virtual Result<std::string> Identify(int ordinal) = 0;
  virtual const GpuKernels& kernels() const = 0;
  virtual Result<std::string> MakeGroupId() = 0;
  virtual Result<std::shared_ptr<gpu::Collectives>> JoinGroup(gpu::Device& device, const std::string& id, int rank,
                                                              int size) = 0;
  // Several processes will share a GPU: before anything else. `host` tells this process from all others.
  virtual void ShareGpus(const std::string& host) = 0;
};

class GpuBackend : public Backend {
 public:
  GpuBackend(std::unique_ptr<GpuPlatform> platform, std::shared_ptr<Launch> launch, const BackendOptions& options);

  std::string_view name() const override { return platform_->name(); }
  int num_processes() const override { return launch_->size(); }
  bool leads() const override { return launch_->rank() == 0; }
  Result<std::vector<int64_t>> Claim(const Mesh& mesh) override;
  Result<MeshCommunicators> Connect(const Mesh& mesh) override;
  std::vector<DeviceRuntime*> runtimes() override;
  EngineResult RunActors(const ActorGraph& graph, TaskRunner& runner, const EngineOptions& options) override;
  std::vector<GpuDevice*> gpus();
  std::string devices() override { return description_; }
  Status MarkMemory(std::string_view phase) override;
  DeviceMemory memory() const override { return memory_; }
  Result<std::vector<std::string>> Gather(std::string_view mine) override { return launch_->Gather(mine); }
  Result<bool> Any(bool mine) override;
  Result<int64_t> CountDevices() override;
  Result<std::vector<std::string>> Hosts() override;
  Result<Machine> DescribeMachine(int64_t devices) override;
  Result<std::string> Share(std::string mine) override;
  Status Finish(const Status& status, const LastWords& last_words) override;

 private:
  Status OpenDevices(const Mesh& mesh);
  Status ClaimAll(int64_t devices);
  Status ClaimOne();

  // Shared with threads that join groups: one that another device's failure leaves hanging is left behind.
  const std::shared_ptr<GpuPlatform> platform_;
  const std::shared_ptr<Launch> launch_;
  const BackendOptions options_;
  std::vector<int64_t> positions_;
  std::vector<int> ordinals_;  // of the GPUs, by index into positions_
  std::shared_ptr<GpuNews> news_;
  std::vector<std::shared_ptr<GpuDevice>> gpus_;
  std::vector<std::unique_ptr<GpuRuntime>> runtimes_;
  std::string description_;
  DeviceMemory memory_;
};

}  // namespace sbp
