#include "kernel/gpu/all_gpu_kernels.h"
#include "kernel/gpu/boxes.h"
#include "kernel/gpu/gpu_kernels.h"

namespace sbp {

const GpuKernels& HostKernels() {
  static const GpuKernels kernels{SBP_GPU_BUILD::KernelRows(), SBP_GPU_BUILD::Movement()};
  return kernels;
}

}  // namespace sbp
