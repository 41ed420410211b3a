// GPUs that are memory and threads of this process, as a backend: what runs on real ones runs here, kernels compiled as
// C++ included.
#pragma once

#include <memory>

#include "runtime/backends/gpu/gpu_backend.h"

namespace sbp {

struct HostGpus {
  int count = 4;
  const GpuKernels* kernels = nullptr;  // nullptr: HostKernels()
  int64_t memory_bytes = -1;            // of each; -1: as much as there is
};
std::unique_ptr<GpuPlatform> MakeHostPlatform(const HostGpus& gpus = {});
// In one process.
std::unique_ptr<GpuBackend> MakeHostBackend(const HostGpus& gpus = {}, const BackendOptions& options = {});

// One device a process where the launch has several; their collectives go through it. In one process as above.
std::unique_ptr<Backend> MakeLaunchedHostBackend(const HostGpus& gpus, std::shared_ptr<Launch> launch,
                                                 const BackendOptions& options);

}  // namespace sbp
