// cuBLASLt, loaded when the first product asks for it: linked, its half a gigabyte would cost every start of the
// program a quarter of a second.
#pragma once

#include <cublasLt.h>

#include "base/status.h"

namespace sbp::gpu::cuda {

// The library's functions, by their names without "cublasLt".
#define SBP_CUBLAS_LT_FUNCTIONS(F) \
  F(Create)                        \
  F(Destroy)                       \
  F(GetVersion)                    \
  F(GetStatusString)               \
  F(Matmul)                        \
  F(MatmulAlgoGetHeuristic)        \
  F(MatmulDescCreate)              \
  F(MatmulDescDestroy)             \
  F(MatmulDescSetAttribute)        \
  F(MatmulPreferenceCreate)        \
  F(MatmulPreferenceDestroy)       \
  F(MatmulPreferenceSetAttribute)  \
  F(MatrixLayoutCreate)            \
  F(MatrixLayoutDestroy)           \
  F(MatrixLayoutSetAttribute)

struct CublasLt {
#define SBP_DECLARE(Name) decltype(&cublasLt##Name) Name = nullptr;
  SBP_CUBLAS_LT_FUNCTIONS(SBP_DECLARE)
#undef SBP_DECLARE

  Status Checked(cublasStatus_t status, const char* what) const;
};

// Loaded once and for all. Error (kRunFailed): it is not there, or lacks a function.
Result<const CublasLt*> LoadCublasLt();

}  // namespace sbp::gpu::cuda
