// The code that runs on GPUs. The same sources are compiled twice: by nvcc, for CUDA's devices, and as C++, for
// gpu::OpenHostDevice, by which they are tested where there is no GPU. Both are plain tables, so that a program can
// hold the two and whoever runs on a device takes the one that it needs.
#pragma once

#include <span>
#include <string_view>

#include "base/dtype.h"
#include "kernel/gpu/movement.h"
#include "kernel/kernel.h"

namespace sbp {

struct GpuKernels {
  // Sorted by op, all of KernelDevice::kCuda. They take KernelCall::stream, and scratch of the stream's; nothing is
  // done when they return. Failures that only data can tell (an index out of range, an integer divided by 0) are noted
  // in the stream's error word (device_errors.h). No more than kMostDims dimensions once neighbours are joined
  // (kRunFailed).
  std::span<const KernelRow> rows;
  GpuMovement movement;

  // As FindKernel of kernel.h.
  const KernelRow* Find(std::string_view op, DType type) const;
};

// nullptr: this build has no CUDA. Library sbp_kernel_gpu.
const GpuKernels* CudaKernels();
// Library sbp_kernel_gpu_host.
const GpuKernels& HostKernels();

}  // namespace sbp
