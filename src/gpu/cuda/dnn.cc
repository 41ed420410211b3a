#include "gpu/cuda/dnn.h"

#include <cstdint>
#include <string>
#include <utility>

#include "base/status.h"

namespace sbp::gpu::cuda {

Status Checked(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return OkStatus();
  return RunFailed(std::string(what) + ": " + cudnnGetErrorString(status));
}

Dnn::~Dnn() {
  if (handle_ != nullptr) cudnnDestroy(handle_);
}

Result<cudnnHandle_t> Dnn::Handle(cudaStream_t stream) {
  if (handle_ == nullptr) {
    cudnnHandle_t made = nullptr;
    SBP_RETURN_IF_ERROR(Checked(cudnnCreate(&made), "cudnnCreate"));
    handle_ = made;
  }
  if (stream_ != stream) {
    SBP_RETURN_IF_ERROR(Checked(cudnnSetStream(handle_, stream), "cudnnSetStream"));
    stream_ = stream;
  }
  return handle_;
}

Result<std::byte*> Dnn::Workspace(size_t bytes) {
  if (bytes > workspace_bytes_) {
    SBP_ASSIGN_OR_RETURN(Buffer longer, device_.Allocate(static_cast<int64_t>(bytes)));
    workspaces_.push_back(std::move(longer));
    workspace_bytes_ = bytes;
  }
  return workspaces_.empty() ? nullptr : workspaces_.back().get();
}

}  // namespace sbp::gpu::cuda
