// Convolutions by cuDNN.
#pragma once

#include <cuda_runtime.h>
#include <cudnn.h>

#include <map>

#include "gpu/gpu.h"

namespace sbp::gpu::cuda {

// Of one stream. The algorithm that the library's heuristics prefer for a call's sizes is asked for once.
class DnnConv {
 public:
  explicit DnnConv(Device& device) : device_(device) {}
  ~DnnConv();
  DnnConv(const DnnConv&) = delete;
  DnnConv& operator=(const DnnConv&) = delete;

  // As Stream::Conv.
  Result<bool> Run(const ConvCall& call, cudaStream_t stream);

 private:
  struct Plan {
    cudnnTensorDescriptor_t x = nullptr, y = nullptr;
    cudnnFilterDescriptor_t w = nullptr;
    cudnnConvolutionDescriptor_t convolution = nullptr;
    cudnnConvolutionFwdAlgo_t algorithm = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM;
    size_t workspace = 0;
    bool known = false;  // the library has an algorithm
  };
  void Describe(const ConvCall& call, Plan& plan);
  static void Destroy(Plan& plan);

  static constexpr size_t kMostWorkspace = size_t{256} << 20;

  Device& device_;
  cudnnHandle_t handle_ = nullptr;
  Buffer workspace_;  // grows; what calls in flight use is freed by CUDA after them
  size_t workspace_bytes_ = 0;
  std::map<std::vector<int64_t>, Plan> plans_;
};

}  // namespace sbp::gpu::cuda
