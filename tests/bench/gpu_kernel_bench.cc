// Stream::Gemm against cuBLAS called directly on the same shapes, memory bandwidth of element-wise kernels, and the
// host's time for a launch, on the first GPU. Prints one JSON object a line; exits with 77 where there is no GPU.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "kernel/gpu/gpu_kernels.h"

namespace sbp {
namespace {

// Failures end the program: a figure without its work would be worse than none.
void Check(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(1);
}
template <typename T>
T Check(Result<T> result) {
  Check(result.status());
  return std::move(result).value();
}

struct Gpu {
  std::unique_ptr<gpu::Device> device;
  std::unique_ptr<gpu::Stream> stream;
  cublasHandle_t blas = nullptr;
};

// Median of the device's seconds for one call, each timed over several; `a` and `b` take turns.
std::pair<double, double> SecondsOf(Gpu& gpu, const std::function<void()>& a, const std::function<void()>& b) {
  constexpr int kRounds = 15, kCalls = 10;
  auto begin = Check(gpu.stream->MakeEvent(true)), end = Check(gpu.stream->MakeEvent(true));
  std::vector<double> seconds[2];
  for (int round = -2; round < kRounds; ++round) {
    for (const int which : {0, 1}) {
      Check(gpu.stream->Record(*begin));
      for (int i = 0; i < kCalls; ++i) (which == 0 ? a : b)();
      Check(gpu.stream->Record(*end));
      Check(gpu.stream->Synchronize());
      if (round >= 0) seconds[which].push_back(Check(gpu.stream->SecondsBetween(*begin, *end)) / kCalls);
    }
  }
  for (auto& list : seconds) std::nth_element(list.begin(), list.begin() + kRounds / 2, list.end());
  return {seconds[0][kRounds / 2], seconds[1][kRounds / 2]};
}

// Row-major out = a c as cuBLAS is told: its matrices are the transposes.
void DirectGemm(Gpu& gpu, const gpu::GemmCall& call) {
  const cudaDataType_t type = call.dtype == DType::kF16    ? CUDA_R_16F
                              : call.dtype == DType::kBF16 ? CUDA_R_16BF
                                                           : CUDA_R_32F;
  const cublasComputeType_t compute = call.allow_tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  const float one = 1, zero = 0;
  const auto m = static_cast<int>(call.m), n = static_cast<int>(call.n), k = static_cast<int>(call.k);
  const cublasStatus_t status = cublasGemmStridedBatchedEx(
      gpu.blas, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, call.c, type, n, call.stride_c, call.a, type, k, call.stride_a,
      &zero, call.out, type, n, call.m * call.n, static_cast<int>(call.batch), compute, CUBLAS_GEMM_DEFAULT);
  if (status != CUBLAS_STATUS_SUCCESS) Check(RunFailed(cublasGetStatusString(status)));
}

struct Shape4 {
  int64_t batch, m, n, k;
};
// A square, a model's projections at training and decoding lengths, attention scores, and one with odd sizes.
constexpr Shape4 kShapes[] = {{1, 4096, 4096, 4096}, {1, 8192, 8192, 8192}, {1, 2048, 14336, 4096},
                              {1, 16, 4096, 4096},   {32, 2048, 2048, 128}, {1, 1000, 1001, 777}};

void BenchGemm(Gpu& gpu) {
  struct Type {
    DType dtype;
    bool tf32;
  };
  for (const auto& [dtype, tf32] :
       {Type{DType::kF16, false}, {DType::kBF16, false}, {DType::kF32, false}, {DType::kF32, true}}) {
    for (const Shape4& s : kShapes) {
      const int64_t bytes = DTypeBits(dtype) / 8;
      const gpu::Buffer a = Check(gpu.device->Allocate(s.batch * s.m * s.k * bytes)),
                        c = Check(gpu.device->Allocate(s.batch * s.k * s.n * bytes)),
                        out = Check(gpu.device->Allocate(s.batch * s.m * s.n * bytes));
      Check(gpu.stream->Zero(a.get(), s.batch * s.m * s.k * bytes));
      Check(gpu.stream->Zero(c.get(), s.batch * s.k * s.n * bytes));
      gpu::GemmCall call;
      call.dtype = dtype;
      call.allow_tf32 = tf32;
      call.batch = s.batch, call.m = s.m, call.n = s.n, call.k = s.k;
      call.stride_a = s.m * s.k, call.stride_c = s.k * s.n;
      call.a = a.get(), call.c = c.get(), call.out = out.get();
      const auto [ours, direct] = SecondsOf(
          gpu, [&] { Check(gpu.stream->Gemm(call)); }, [&] { DirectGemm(gpu, call); });
      const double tera = 2e-12 * static_cast<double>(s.batch * s.m * s.n * s.k);
      std::printf(
          "{\"bench\": \"product\", \"dtype\": \"%s\", \"shape\": \"%lld x %lld x %lld, %lld times\", "
          "\"seconds\": %.6g, \"bare_seconds\": %.6g, \"ratio\": %.4f, \"tflops\": %.4g}\n",
          tf32 ? "tf32" : std::string(DTypeName(dtype)).c_str(), static_cast<long long>(s.m),
          static_cast<long long>(s.k), static_cast<long long>(s.n), static_cast<long long>(s.batch), ours, direct,
          direct / ours, tera / ours);
    }
  }
}

// One kernel on one tensor of n elements, in place.
KernelCall Call(Gpu& gpu, const char* op, DType dtype, int64_t n, std::byte* data, const Attributes& none,
                Scratch& scratch) {
  KernelCall call;
  call.op_type = op;
  call.attributes = &none;
  call.inputs = {WholeView(dtype, {n}, data)};
  call.outputs = {WholeView(dtype, {n}, data)};
  call.scratch = &scratch;
  call.stream = gpu.stream.get();
  return call;
}

void BenchElementwise(Gpu& gpu) {
  constexpr int64_t kBytes = int64_t{1} << 30;
  const gpu::Buffer data = Check(gpu.device->Allocate(kBytes)), copy = Check(gpu.device->Allocate(kBytes));
  Check(gpu.stream->Zero(data.get(), kBytes));
  const Attributes none;
  Scratch scratch;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    const int64_t n = kBytes / (DTypeBits(dtype) / 8);
    KernelCall call = Call(gpu, "Neg", dtype, n, data.get(), none, scratch);
    const KernelRow* row = CudaKernels()->Find("Neg", dtype);
    const auto [ours, direct] = SecondsOf(
        gpu, [&] { Check(row->run(call)); }, [&] { Check(gpu.stream->Copy(data.get(), copy.get(), kBytes)); });
    std::printf(
        "{\"bench\": \"Neg against a copy\", \"dtype\": \"%s\", \"bytes\": %lld, \"seconds\": %.6g, "
        "\"bare_seconds\": %.6g, \"ratio\": %.4f}\n",
        std::string(DTypeName(dtype)).c_str(), static_cast<long long>(2 * kBytes), ours, direct, direct / ours);
  }
}

// The host's seconds until a call returns, while the device has less to do than it.
void BenchLaunch(Gpu& gpu) {
  constexpr int kCalls = 2000;
  const gpu::Buffer data = Check(gpu.device->Allocate(4096));
  const Attributes none;
  Scratch scratch;
  KernelCall call = Call(gpu, "Neg", DType::kF32, 64, data.get(), none, scratch);
  const KernelRow* row = CudaKernels()->Find("Neg", DType::kF32);
  gpu::GemmCall gemm;
  gemm.m = gemm.n = gemm.k = 16;
  gemm.a = data.get(), gemm.c = data.get() + 1024, gemm.out = data.get() + 2048;
  const auto seconds_of = [&](const std::function<void()>& run) {
    for (int i = 0; i < 10; ++i) run();
    Check(gpu.stream->Synchronize());
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) run();
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    Check(gpu.stream->Synchronize());
    return passed.count() / kCalls;
  };
  const double kernel = seconds_of([&] { Check(row->run(call)); });
  const double product = seconds_of([&] { Check(gpu.stream->Gemm(gemm)); });
  std::printf("{\"bench\": \"launch of a kernel\", \"seconds\": %.4g}\n", kernel);
  std::printf("{\"bench\": \"launch of a product\", \"seconds\": %.4g}\n", product);
}

int Main() {
  if (const auto count = gpu::CountCudaDevices(); !count.ok()) {
    std::fprintf(stderr, "no GPU: %s\n", count.status().message().c_str());
    return 77;
  }
  Gpu gpu;
  gpu.device = Check(gpu::OpenCudaDevice(0));
  Check(gpu.device->Use());
  gpu.stream = Check(gpu.device->MakeStream());
  if (cublasCreate(&gpu.blas) != CUBLAS_STATUS_SUCCESS ||
      cublasSetStream(gpu.blas, static_cast<cudaStream_t>(gpu.stream->native())) != CUBLAS_STATUS_SUCCESS)
    Check(RunFailed("cuBLAS does not start"));
  const gpu::DeviceInfo info = Check(gpu.device->Info());
  std::printf("{\"what\": \"%s, %s\"}\n", info.name.c_str(), info.library.c_str());
  BenchGemm(gpu);
  BenchElementwise(gpu);
  BenchLaunch(gpu);
  cublasDestroy(gpu.blas);
  return 0;
}

}  // namespace
}  // namespace sbp

int main() { return sbp::Main(); }
