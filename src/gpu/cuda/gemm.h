// Products of matrices by cuBLASLt.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <map>
#include <tuple>

#include "base/dtype.h"
#include "base/status.h"
#include "gpu/cuda/cublas_lt.h"
#include "gpu/gpu.h"

namespace sbp::gpu::cuda {

// Of one stream. The algorithm that the library's heuristics prefer for a shape is asked for once; shapes without one
// fail. The workspace is the stream's own, so that calls in its order can share it.
class LtGemm {
 public:
  explicit LtGemm(Device& device) : device_(device) {}
  ~LtGemm();
  LtGemm(const LtGemm&) = delete;
  LtGemm& operator=(const LtGemm&) = delete;

  Status Run(const GemmCall& call, cudaStream_t stream);  // in as few calls of the library as it allows

 private:
  // What the choice of an algorithm depends on. Alignments are those of the three matrices, in bytes up to 16.
  using Key = std::tuple<DType, bool, bool, bool, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, bool, int>;
  struct Plan {
    cublasLtMatmulDesc_t operation = nullptr;
    cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;  // as the library names them, column-major
    cublasLtMatmulAlgo_t algorithm;
  };
  Result<Plan*> PlanFor(const GemmCall& call);
  Status Describe(const GemmCall& call, Plan& plan);
  Status MakeLayout(const GemmCall& call, int64_t rows, int64_t columns, int64_t stride,
                    cublasLtMatrixLayout_t& layout);
  void Destroy(Plan& plan);
  Status Choose(const GemmCall& call, Plan& plan);
  Status Start(const GemmCall& call, cudaStream_t stream);

  static constexpr size_t kWorkspace = size_t{64} << 20;  // of Hopper's fastest products; others need less

  Device& device_;
  const CublasLt* lt_ = nullptr;
  cublasLtHandle_t handle_ = nullptr;
  Buffer workspace_;
  std::map<Key, Plan> plans_;
};

}  // namespace sbp::gpu::cuda
