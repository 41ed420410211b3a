// Convolutions by cuDNN.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/status.h"
#include "gpu/cuda/dnn.h"
#include "gpu/gpu.h"

namespace sbp::gpu::cuda {

// Of one stream. The algorithm that the library's heuristics prefer for a call's sizes is asked for once.
class DnnConv {
 public:
  explicit DnnConv(Dnn& dnn) : dnn_(dnn) {}
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
  static void Describe(cudnnHandle_t handle, const ConvCall& call, Plan& plan);
  static void Destroy(Plan& plan);

  Dnn& dnn_;
  std::map<std::vector<int64_t>, Plan> plans_;
};

}  // namespace sbp::gpu::cuda
