// The cuda backend: NVIDIA's GPUs, over NCCL.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "gpu/collectives.h"
#include "gpu/gpu.h"
#include "kernel/gpu/gpu_kernels.h"
#include "runtime/backends/backend.h"
#include "runtime/backends/gpu/gpu_backend.h"
#include "runtime/processes/launch.h"

namespace sbp {
namespace {

class CudaPlatform : public GpuPlatform {
 public:
  // Every path between ranks is made when a group comes together, none while collectives are under way.
  explicit CudaPlatform(const GpuKernels& kernels) : kernels_(kernels) { setenv("NCCL_RUNTIME_CONNECT", "0", 0); }

  std::string_view name() const override { return "cuda"; }
  Result<int> CountDevices() override { return gpu::CountCudaDevices(); }
  Result<std::unique_ptr<gpu::Device>> Open(int ordinal) override { return gpu::OpenCudaDevice(ordinal); }
  Result<std::string> Identify(int ordinal) override { return gpu::CudaDeviceId(ordinal); }
  const GpuKernels& kernels() const override { return kernels_; }
  Result<std::string> MakeGroupId() override { return gpu::MakeCudaGroupId(); }
  Result<std::shared_ptr<gpu::Collectives>> JoinGroup(gpu::Device& device, const std::string& id, int rank,
                                                      int size) override {
    return gpu::JoinCudaGroup(device, id, rank, size);
  }
  // NCCL takes two ranks on one GPU for a mistake unless they seem to be on two machines.
  void ShareGpus(const std::string& host) override { setenv("NCCL_HOSTID", host.c_str(), 1); }

 private:
  const GpuKernels& kernels_;
};

}  // namespace

Result<std::unique_ptr<Backend>> StartCudaBackend(const BackendOptions& options) {
  const GpuKernels* kernels = CudaKernels();
  if (kernels == nullptr) return gpu::CountCudaDevices().status();  // says what to install
  SBP_ASSIGN_OR_RETURN(std::unique_ptr<Launch> launch, JoinLaunch(options.identity));
  return std::unique_ptr<Backend>(
      std::make_unique<GpuBackend>(std::make_unique<CudaPlatform>(*kernels), std::move(launch), options));
}

}  // namespace sbp
