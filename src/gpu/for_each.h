// ForEach: the one way in which our kernels run on a device: a functor called for every index. Compiled by nvcc it is a
// launch, by any other compiler a loop, so that the same functors are tested where there is no GPU.
#pragma once

#include <cstdint>
#include <string>

#include "base/host_device.h"
#include "base/status.h"
#include "gpu/gpu.h"

#ifdef __CUDACC__
#include <cuda_runtime.h>

#include <algorithm>
#endif

namespace sbp::gpu {

// Sets bits of a device's word; many threads may.
SBP_HD inline void SetBits(uint32_t* word, uint32_t bits) {
#ifdef __CUDA_ARCH__
  atomicOr(word, bits);
#else
  *word |= bits;
#endif
}

// Raises a device's number to `value`; many threads may.
SBP_HD inline void SetMax(int64_t* number, int64_t value) {
#ifdef __CUDA_ARCH__
  atomicMax(reinterpret_cast<long long*>(number), static_cast<long long>(value));
#else
  if (value > *number) *number = value;
#endif
}

// `take` returns the last error of a thread and clears it, unless it cannot be cleared.
template <typename Error, typename Take>
Error ErrorThatStays(Error none, const Take& take) {
  return take() == none ? none : take();
}

#ifdef __CUDACC__

inline constexpr int kThreadsPerBlock = 256;
inline constexpr int64_t kMostBlocks = 1 << 16;  // more indices than threads: each thread takes several, a grid apart

template <typename F>
__global__ void __launch_bounds__(kThreadsPerBlock) ForEachKernel(int64_t n, const __grid_constant__ F f) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) f(i);
}

// Failures of calls before a launch are not the launch's: those that were told and left behind are cleared, one that
// stays (work that has broken the device) is said to be older.
inline Status BeforeLaunch() {
  const cudaError_t error = ErrorThatStays(cudaSuccess, [] { return cudaGetLastError(); });
  if (error == cudaSuccess) return OkStatus();
  return RunFailed(std::string("work that was started before: ") + cudaGetErrorString(error));
}
inline Status AfterLaunch() {
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? OkStatus() : RunFailed(std::string("launch: ") + cudaGetErrorString(error));
}

// `f` is copied to the device: pointers in it are the device's, and it holds what it needs by value.
template <typename F>
Status ForEach(Stream& stream, int64_t n, const F& f) {
  if (n <= 0) return OkStatus();
  SBP_RETURN_IF_ERROR(BeforeLaunch());
  const int64_t blocks = std::min(kMostBlocks, (n + kThreadsPerBlock - 1) / kThreadsPerBlock);
  ForEachKernel<<<static_cast<unsigned>(blocks), kThreadsPerBlock, 0, static_cast<cudaStream_t>(stream.native())>>>(n,
                                                                                                                    f);
  return AfterLaunch();
}

#else

template <typename F>
Status ForEach(Stream& stream, int64_t n, const F& f) {
  const auto run = [n, f] {
    for (int64_t i = 0; i < n; ++i) f(i);
  };
  if (auto* const notes = stream.notes()) {
    notes->emplace_back(run);
  } else {
    run();
  }
  return OkStatus();
}

#endif

}  // namespace sbp::gpu
