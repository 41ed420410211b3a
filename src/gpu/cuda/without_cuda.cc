// A build without CUDA.
#include <memory>
#include <string>

#include "base/status.h"
#include "gpu/gpu.h"

namespace sbp::gpu {
namespace {

Status NotBuilt() {
  return UsageError(
      "this build has no CUDA: install the CUDA toolkit (nvcc, cuBLASLt), cuDNN 9 and NCCL, and build again");
}

}  // namespace

Result<int> CountCudaDevices() { return NotBuilt(); }
Result<std::string> CudaDeviceId(int) { return NotBuilt(); }
Result<std::unique_ptr<Device>> OpenCudaDevice(int) { return NotBuilt(); }

}  // namespace sbp::gpu
