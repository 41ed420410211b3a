// A build without CUDA.
#include "kernel/gpu/gpu_kernels.h"

namespace sbp {

const GpuKernels* CudaKernels() { return nullptr; }

}  // namespace sbp
