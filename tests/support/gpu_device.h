// The device that tests of GPU code run on: the first of CUDA's where there is one, else the host's.
#pragma once

#include <memory>
#include <vector>

#include "gpu/gpu.h"
#include "kernel/gpu/gpu_kernels.h"

namespace sbp {

struct TestGpu {
  const GpuKernels* kernels = nullptr;
  std::unique_ptr<gpu::Device> device;
  std::unique_ptr<gpu::Stream> stream;

  // Memory of the device with these bytes, served until the stream's scratch is reset.
  std::byte* Put(const void* data, int64_t bytes);
  // Waits for what the stream does.
  void Take(const std::byte* data, void* target, int64_t bytes);
};

TestGpu OpenTestGpu();

}  // namespace sbp
