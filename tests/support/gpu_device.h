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

  std::vector<gpu::Buffer> buffers;

  // Memory of the device with these bytes, until Reset. On the host's device an allocation each, so that a sanitizer
  // sees who leaves it; on a GPU, where that takes long, scratch of the stream.
  std::byte* Put(const void* data, int64_t bytes);
  void Reset();
  // Waits for what the stream does.
  void Take(const std::byte* data, void* target, int64_t bytes);
};

TestGpu OpenTestGpu();

}  // namespace sbp
