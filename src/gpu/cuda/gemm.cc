#include "gpu/cuda/gemm.h"

#include <algorithm>
#include <cstdint>

#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"

namespace sbp::gpu::cuda {
namespace {

cudaDataType_t DataType(DType type) {
  switch (type) {
    case DType::kF64:
      return CUDA_R_64F;
    case DType::kF16:
      return CUDA_R_16F;
    case DType::kBF16:
      return CUDA_R_16BF;
    default:
      return CUDA_R_32F;
  }
}

// The largest power of two up to 16 that divides an address.
int AlignmentOf(const void* data) {
  const auto at = reinterpret_cast<uintptr_t>(data);
  return at % 16 == 0 ? 16 : at % 8 == 0 ? 8 : at % 4 == 0 ? 4 : 2;
}

}  // namespace

LtGemm::~LtGemm() {
  for (auto& [key, plan] : plans_) Destroy(plan);
  if (handle_ != nullptr) lt_->Destroy(handle_);
}

void LtGemm::Destroy(Plan& plan) {
  for (cublasLtMatrixLayout_t layout : {plan.a, plan.b, plan.c}) {
    if (layout != nullptr) lt_->MatrixLayoutDestroy(layout);
  }
  if (plan.operation != nullptr) lt_->MatmulDescDestroy(plan.operation);
}

// Row-major rows x columns is column-major columns x rows with the row's length as leading dimension.
Status LtGemm::MakeLayout(const GemmCall& call, int64_t rows, int64_t columns, int64_t stride,
                          cublasLtMatrixLayout_t& layout) {
  SBP_RETURN_IF_ERROR(
      lt_->Checked(lt_->MatrixLayoutCreate(&layout, DataType(call.dtype), static_cast<uint64_t>(columns),
                                           static_cast<uint64_t>(rows), columns),
                   "cublasLtMatrixLayoutCreate"));
  if (call.batch == 1) return OkStatus();
  const auto count = static_cast<int32_t>(call.batch);
  SBP_RETURN_IF_ERROR(lt_->Checked(
      lt_->MatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count), "batches"));
  return lt_->Checked(
      lt_->MatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
      "stride of batches");
}

// The library's matrices are column-major: out^T = op(c)^T op(a)^T, so that our c is its A, our a its B, and each
// transposition stays.
Status LtGemm::Describe(const GemmCall& call, Plan& plan) {
  const bool wide = call.dtype == DType::kF64;
  const cublasComputeType_t compute = wide                                           ? CUBLAS_COMPUTE_64F
                                      : call.dtype == DType::kF32 && call.allow_tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                                                     : CUBLAS_COMPUTE_32F;
  SBP_RETURN_IF_ERROR(lt_->Checked(lt_->MatmulDescCreate(&plan.operation, compute, wide ? CUDA_R_64F : CUDA_R_32F),
                                   "cublasLtMatmulDescCreate"));
  const cublasOperation_t a = call.transpose_c ? CUBLAS_OP_T : CUBLAS_OP_N,
                          b = call.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  SBP_RETURN_IF_ERROR(lt_->Checked(
      lt_->MatmulDescSetAttribute(plan.operation, CUBLASLT_MATMUL_DESC_TRANSA, &a, sizeof a), "transposition"));
  SBP_RETURN_IF_ERROR(lt_->Checked(
      lt_->MatmulDescSetAttribute(plan.operation, CUBLASLT_MATMUL_DESC_TRANSB, &b, sizeof b), "transposition"));
  const auto [m, n, k] = std::tuple(call.m, call.n, call.k);
  SBP_RETURN_IF_ERROR(MakeLayout(call, call.transpose_c ? n : k, call.transpose_c ? k : n, call.stride_c, plan.a));
  SBP_RETURN_IF_ERROR(MakeLayout(call, call.transpose_a ? k : m, call.transpose_a ? m : k, call.stride_a, plan.b));
  return MakeLayout(call, m, n, m * n, plan.c);
}

Status LtGemm::Choose(const GemmCall& call, Plan& plan) {
  cublasLtMatmulPreference_t preference = nullptr;
  SBP_RETURN_IF_ERROR(lt_->Checked(lt_->MatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate"));
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t what, const auto& value) {
    return lt_->Checked(lt_->MatmulPreferenceSetAttribute(preference, what, &value, sizeof value), "preference");
  };
  const auto a = static_cast<uint32_t>(AlignmentOf(call.c)), b = static_cast<uint32_t>(AlignmentOf(call.a)),
             c = static_cast<uint32_t>(AlignmentOf(call.out));
  Status status = set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspace);
  if (status.ok()) status = set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, a);
  if (status.ok()) status = set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, b);
  if (status.ok()) status = set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, c);
  if (status.ok()) status = set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, c);
  constexpr int kAsked = 8;
  cublasLtMatmulHeuristicResult_t found[kAsked] = {};
  int count = 0;
  if (status.ok()) {
    status = lt_->Checked(lt_->MatmulAlgoGetHeuristic(handle_, plan.operation, plan.a, plan.b, plan.c, plan.c,
                                                      preference, kAsked, found, &count),
                          "cublasLtMatmulAlgoGetHeuristic");
  }
  lt_->MatmulPreferenceDestroy(preference);
  SBP_RETURN_IF_ERROR(status);
  for (int i = 0; i < count; ++i) {  // the best first
    if (found[i].state != CUBLAS_STATUS_SUCCESS || found[i].workspaceSize > kWorkspace) continue;
    plan.algorithm = found[i].algo;
    return OkStatus();
  }
  return RunFailed(
      StrCat("cuBLASLt has no product of ", call.m, " x ", call.k, " by ", call.n, " of ", DTypeName(call.dtype)));
}

Result<LtGemm::Plan*> LtGemm::PlanFor(const GemmCall& call) {
  const int alignment = AlignmentOf(call.a) | AlignmentOf(call.c) << 8 | AlignmentOf(call.out) << 16;
  const Key key{call.dtype, call.allow_tf32, call.transpose_a, call.transpose_c, call.batch,       call.m,
                call.n,     call.k,          call.stride_a,    call.stride_c,    call.beta != 0.0, alignment};
  if (const auto it = plans_.find(key); it != plans_.end()) return &it->second;
  Plan& plan = plans_[key];  // owns what is made even if a step fails
  Status status = Describe(call, plan);
  if (status.ok()) status = Choose(call, plan);
  if (status.ok()) return &plan;
  Destroy(plan);
  plans_.erase(key);
  return status;
}

Status LtGemm::Run(const GemmCall& call, cudaStream_t stream) {
  if (handle_ == nullptr) {
    SBP_ASSIGN_OR_RETURN(workspace_, device_.Allocate(kWorkspace));
    SBP_ASSIGN_OR_RETURN(lt_, LoadCublasLt());
    SBP_RETURN_IF_ERROR(lt_->Checked(lt_->Create(&handle_), "cublasLtCreate"));
  }
  // The library's kernels take a batch per block of a grid's last dimension, which has so many.
  constexpr int64_t kMostBatches = 65535;
  const int64_t bytes = DTypeBits(call.dtype) / 8;
  for (int64_t first = 0; first < call.batch; first += kMostBatches) {
    GemmCall some = call;
    some.batch = std::min(kMostBatches, call.batch - first);
    some.a += first * call.stride_a * bytes;
    some.c += first * call.stride_c * bytes;
    some.out += first * call.m * call.n * bytes;
    SBP_RETURN_IF_ERROR(Start(some, stream));
  }
  return OkStatus();
}

Status LtGemm::Start(const GemmCall& call, cudaStream_t stream) {
  SBP_ASSIGN_OR_RETURN(Plan * plan, PlanFor(call));
  const auto alpha = static_cast<float>(call.alpha), beta = static_cast<float>(call.beta);
  const bool wide = call.dtype == DType::kF64;
  const void* factors[] = {wide ? static_cast<const void*>(&call.alpha) : &alpha,
                           wide ? static_cast<const void*>(&call.beta) : &beta};
  return lt_->Checked(
      lt_->Matmul(handle_, plan->operation, factors[0], call.c, plan->a, call.a, plan->b, factors[1], call.out, plan->c,
                  call.out, plan->c, &plan->algorithm, workspace_.get(), kWorkspace, stream),
      "cublasLtMatmul");
}

}  // namespace sbp::gpu::cuda
