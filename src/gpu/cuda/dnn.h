// cuDNN as one stream uses it: its handle, and the workspace that the stream's calls share.
#pragma once

#include <cuda_runtime.h>
#include <cudnn.h>

#include <vector>

#include "base/status.h"
#include "gpu/gpu.h"

namespace sbp::gpu::cuda {

Status Checked(cudnnStatus_t status, const char* what);

// Is it any of the library's reasons for not doing a call (3000 to 3999)? Then nothing was started, and there is
// another way. Equality with the first of them would miss the others.
constexpr bool IsNotSupported(cudnnStatus_t status) {
  constexpr int kCategory = 1000;
  return status / kCategory == CUDNN_STATUS_NOT_SUPPORTED / kCategory;
}

class Dnn {
 public:
  explicit Dnn(Device& device) : device_(device) {}  // which outlives this
  ~Dnn();
  Dnn(const Dnn&) = delete;
  Dnn& operator=(const Dnn&) = delete;

  // Made when first asked for: programs without it start faster.
  Result<cudnnHandle_t> Handle(cudaStream_t stream);
  // Shared by all calls, in the stream's order. Stays until the end, as graphs may refer to it.
  Result<std::byte*> Workspace(size_t bytes);

  // Longer workspaces are not asked for: calls that want them are done otherwise.
  static constexpr size_t kMostWorkspace = size_t{256} << 20;

 private:
  Device& device_;
  cudnnHandle_t handle_ = nullptr;
  cudaStream_t stream_ = nullptr;   // the handle's
  std::vector<Buffer> workspaces_;  // the last one is the longest
  size_t workspace_bytes_ = 0;
};

}  // namespace sbp::gpu::cuda
