#include "gpu/cuda/conv.h"

#include <climits>
#include <cstdint>

#include "base/dtype.h"
#include "base/status.h"
#include "gpu/gpu.h"
#include "sbp/shard_math.h"

namespace sbp::gpu::cuda {
namespace {

cudnnDataType_t DnnType(DType type) {
  switch (type) {
    case DType::kF64:
      return CUDNN_DATA_DOUBLE;
    case DType::kF16:
      return CUDNN_DATA_HALF;
    case DType::kBF16:
      return CUDNN_DATA_BFLOAT16;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

// The library takes int, and at least two spatial dimensions: one is seen as two, the leading one of size 1.
std::vector<int> Ints(const std::vector<int64_t>& values, size_t before, int64_t inserted) {
  std::vector<int> ints(values.begin(), values.end());
  if (values.size() - before == 1)
    ints.insert(ints.begin() + static_cast<std::ptrdiff_t>(before), static_cast<int>(inserted));
  return ints;
}

std::vector<int> DenseStrides(const std::vector<int>& shape) {
  std::vector<int> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

// Does y have the sizes that the same zeros at both ends give?
bool PadsAreEqual(const ConvCall& call) {
  for (size_t d = 0; d < call.strides.size(); ++d) {
    const int64_t span = (call.w_shape[d + 2] - 1) * call.dilations[d] + 1;
    const int64_t room = call.x_shape[d + 2] + 2 * call.pads_begin[d] - span;
    if (call.pads_begin[d] < 0 || room < 0 || room / call.strides[d] + 1 != call.y_shape[d + 2]) return false;
  }
  return true;
}

// Sums of products as they are: transforms lose digits.
bool IsDirect(cudnnConvolutionFwdAlgo_t algorithm) {
  return algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM ||
         algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM ||
         algorithm == CUDNN_CONVOLUTION_FWD_ALGO_GEMM || algorithm == CUDNN_CONVOLUTION_FWD_ALGO_DIRECT;
}

bool FitsInt(const Shape& shape) {
  int64_t n = 1;
  for (const int64_t size : shape) n *= size;
  return n <= INT_MAX;
}

std::vector<int64_t> KeyOf(const ConvCall& call) {
  std::vector<int64_t> key{static_cast<int64_t>(call.dtype), call.allow_tf32, call.groups};
  for (const auto* list :
       {&call.x_shape, &call.w_shape, &call.y_shape, &call.strides, &call.dilations, &call.pads_begin})
    key.insert(key.end(), list->begin(), list->end());
  return key;
}

}  // namespace

DnnConv::~DnnConv() {
  for (auto& [key, plan] : plans_) Destroy(plan);
}

void DnnConv::Destroy(Plan& plan) {
  if (plan.x != nullptr) cudnnDestroyTensorDescriptor(plan.x);
  if (plan.y != nullptr) cudnnDestroyTensorDescriptor(plan.y);
  if (plan.w != nullptr) cudnnDestroyFilterDescriptor(plan.w);
  if (plan.convolution != nullptr) cudnnDestroyConvolutionDescriptor(plan.convolution);
}

// A step that the library refuses leaves the plan unknown: the caller has another way.
void DnnConv::Describe(cudnnHandle_t handle, const ConvCall& call, Plan& plan) {
  const cudnnDataType_t type = DnnType(call.dtype),
                        compute = call.dtype == DType::kF64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  const std::vector<int> x = Ints(call.x_shape, 2, 1), w = Ints(call.w_shape, 2, 1), y = Ints(call.y_shape, 2, 1);
  const std::vector<int> pads = Ints(call.pads_begin, 0, 0), strides = Ints(call.strides, 0, 1),
                         dilations = Ints(call.dilations, 0, 1);
  const std::vector<int> x_strides = DenseStrides(x), y_strides = DenseStrides(y);
  const auto rank = static_cast<int>(x.size()), spatial = rank - 2;
  // FMA: products of f32 as they are, where the default would round operands to tf32.
  const bool exact = call.dtype == DType::kF32 && !call.allow_tf32;
  const auto ok = [](cudnnStatus_t status) { return status == CUDNN_STATUS_SUCCESS; };
  const bool described = ok(cudnnCreateTensorDescriptor(&plan.x)) && ok(cudnnCreateTensorDescriptor(&plan.y)) &&
                         ok(cudnnCreateFilterDescriptor(&plan.w)) &&
                         ok(cudnnCreateConvolutionDescriptor(&plan.convolution)) &&
                         ok(cudnnSetTensorNdDescriptor(plan.x, type, rank, x.data(), x_strides.data())) &&
                         ok(cudnnSetTensorNdDescriptor(plan.y, type, rank, y.data(), y_strides.data())) &&
                         ok(cudnnSetFilterNdDescriptor(plan.w, type, CUDNN_TENSOR_NCHW, rank, w.data())) &&
                         ok(cudnnSetConvolutionNdDescriptor(plan.convolution, spatial, pads.data(), strides.data(),
                                                            dilations.data(), CUDNN_CROSS_CORRELATION, compute)) &&
                         ok(cudnnSetConvolutionGroupCount(plan.convolution, static_cast<int>(call.groups))) &&
                         ok(cudnnSetConvolutionMathType(plan.convolution, exact ? CUDNN_FMA_MATH : CUDNN_DEFAULT_MATH));
  if (!described) return;
  cudnnConvolutionFwdAlgoPerf_t found[CUDNN_CONVOLUTION_FWD_ALGO_COUNT];
  int count = 0;
  if (!ok(cudnnGetConvolutionForwardAlgorithm_v7(handle, plan.x, plan.w, plan.convolution, plan.y,
                                                 CUDNN_CONVOLUTION_FWD_ALGO_COUNT, &count, found)))
    return;
  for (int i = 0; i < count && !plan.known; ++i) {
    if (found[i].status != CUDNN_STATUS_SUCCESS || found[i].memory > Dnn::kMostWorkspace) continue;
    if (exact && !IsDirect(found[i].algo)) continue;
    plan.algorithm = found[i].algo;
    plan.known = ok(cudnnSetConvolutionMathType(plan.convolution, exact ? CUDNN_FMA_MATH : found[i].mathType)) &&
                 ok(cudnnGetConvolutionForwardWorkspaceSize(handle, plan.x, plan.w, plan.convolution, plan.y,
                                                            plan.algorithm, &plan.workspace)) &&
                 plan.workspace <= Dnn::kMostWorkspace;
  }
}

Result<bool> DnnConv::Run(const ConvCall& call, cudaStream_t stream) {
  if (!PadsAreEqual(call) || !FitsInt(call.x_shape) || !FitsInt(call.y_shape)) return false;
  SBP_ASSIGN_OR_RETURN(cudnnHandle_t const handle, dnn_.Handle(stream));
  const auto [it, added] = plans_.try_emplace(KeyOf(call));
  Plan& plan = it->second;
  if (added) Describe(handle, call, plan);
  if (!plan.known) return false;
  SBP_ASSIGN_OR_RETURN(std::byte * workspace, dnn_.Workspace(plan.workspace));
  const float one = 1, zero = 0;
  const double wide_one = 1, wide_zero = 0;
  const bool wide = call.dtype == DType::kF64;
  const void *alpha = wide ? static_cast<const void*>(&wide_one) : &one,
             *beta = wide ? static_cast<const void*>(&wide_zero) : &zero;
  const cudnnStatus_t done = cudnnConvolutionForward(handle, alpha, plan.x, call.x, plan.w, call.w, plan.convolution,
                                                     plan.algorithm, workspace, plan.workspace, beta, plan.y, call.y);
  if (IsNotSupported(done)) {  // the heuristics thought otherwise
    plan.known = false;
    return false;
  }
  SBP_RETURN_IF_ERROR(Checked(done, "cudnnConvolutionForward"));
  return true;
}

}  // namespace sbp::gpu::cuda
