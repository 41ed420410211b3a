// Failures of CUDA as Status.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "base/status.h"

namespace sbp::gpu::cuda {

inline Status Checked(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return OkStatus();
  return RunFailed(std::string(what) + ": " + cudaGetErrorString(error));
}

}  // namespace sbp::gpu::cuda
