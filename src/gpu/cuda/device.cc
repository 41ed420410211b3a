#include <cuda_runtime.h>
#include <cudnn.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "base/status.h"
#include "base/text.h"
#include "gpu/collectives.h"
#include "gpu/cuda/cublas_lt.h"
#include "gpu/cuda/errors.h"
#include "gpu/cuda/stream.h"
#include "gpu/gpu.h"

namespace sbp::gpu {
namespace {

using cuda::Checked;

// 13000: "13.0".
std::string CudaVersion(int version) { return StrCat(version / 1000, ".", version % 1000 / 10); }

// "580.65.06", from the kernel's module; where that is not told, the newest CUDA that the driver knows.
Result<std::string> DriverVersion() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos) return word;
  }
  int driver = 0;
  SBP_RETURN_IF_ERROR(Checked(cudaDriverGetVersion(&driver), "cudaDriverGetVersion"));
  return StrCat("for CUDA ", CudaVersion(driver));
}

class CudaDevice : public Device {
 public:
  explicit CudaDevice(int ordinal) : ordinal_(ordinal) {}

  Result<DeviceInfo> Info() override {
    SBP_RETURN_IF_ERROR(Checked(cudaSetDevice(ordinal_), "cudaSetDevice"));
    cudaDeviceProp properties;
    SBP_RETURN_IF_ERROR(Checked(cudaGetDeviceProperties(&properties, ordinal_), "cudaGetDeviceProperties"));
    int runtime = 0;
    SBP_RETURN_IF_ERROR(Checked(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion"));
    SBP_ASSIGN_OR_RETURN(const std::string driver, DriverVersion());
    size_t free = 0, total = 0;
    SBP_RETURN_IF_ERROR(Checked(cudaMemGetInfo(&free, &total), "cudaMemGetInfo"));
    DeviceInfo info;
    info.name = properties.name;
    SBP_ASSIGN_OR_RETURN(const cuda::CublasLt* lt, cuda::LoadCublasLt());
    const size_t blas = lt->GetVersion(), dnn = cudnnGetVersion();
    info.library =
        StrCat("CUDA ", CudaVersion(runtime), ", driver ", driver, ", cuBLASLt ", blas / 10000, ".", blas / 100 % 100,
               ".", blas % 100, ", cuDNN ", dnn / 10000, ".", dnn / 100 % 100, ".", dnn % 100);
    if (const std::string nccl = CudaCollectivesVersion(); !nccl.empty()) info.library += ", " + nccl;
    info.memory_bytes = static_cast<int64_t>(total);
    info.free_bytes = static_cast<int64_t>(free);
    return info;
  }
  Result<MemoryState> Memory() override {
    SBP_RETURN_IF_ERROR(Checked(cudaSetDevice(ordinal_), "cudaSetDevice"));
    size_t free = 0, total = 0;
    SBP_RETURN_IF_ERROR(Checked(cudaMemGetInfo(&free, &total), "cudaMemGetInfo"));
    return MemoryState{static_cast<int64_t>(total), static_cast<int64_t>(free)};
  }
  int ordinal() const override { return ordinal_; }

  Result<Buffer> Allocate(int64_t bytes) override {
    SBP_RETURN_IF_ERROR(Checked(cudaSetDevice(ordinal_), "cudaSetDevice"));
    void* memory = nullptr;
    if (const cudaError_t error = cudaMalloc(&memory, static_cast<size_t>(bytes < 1 ? 1 : bytes));
        error != cudaSuccess) {
      static_cast<void>(cudaGetLastError());  // it is told here, not by the next call
      size_t free = 0, total = 0;
      static_cast<void>(cudaMemGetInfo(&free, &total));
      return RunFailed(StrCat("device ", ordinal_, ": ", cudaGetErrorString(error), ": ", bytes,
                              " bytes were asked for, ", free, " of ", total, " are free"));
    }
    // cudaFree waits for work that may use the memory.
    return Buffer(static_cast<std::byte*>(memory), [ordinal = ordinal_](std::byte* p) {
      static_cast<void>(cudaSetDevice(ordinal));
      static_cast<void>(cudaFree(p));
    });
  }
  Result<Buffer> AllocatePinned(int64_t bytes) override {
    SBP_RETURN_IF_ERROR(Checked(cudaSetDevice(ordinal_), "cudaSetDevice"));
    void* memory = nullptr;
    SBP_RETURN_IF_ERROR(Checked(
        cudaHostAlloc(&memory, static_cast<size_t>(bytes < 1 ? 1 : bytes), cudaHostAllocPortable), "cudaHostAlloc"));
    return Buffer(static_cast<std::byte*>(memory), [](std::byte* p) { static_cast<void>(cudaFreeHost(p)); });
  }
  Status Use() override { return Checked(cudaSetDevice(ordinal_), "cudaSetDevice"); }
  Result<std::unique_ptr<Stream>> MakeStream() override { return cuda::MakeStream(*this); }

 private:
  int ordinal_;
};

}  // namespace

Result<int> CountCudaDevices() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) static_cast<void>(cudaGetLastError());
  if (error != cudaSuccess && error != cudaErrorNoDevice)
    return RunFailed(StrCat("no NVIDIA GPU can be used: ", cudaGetErrorString(error)));
  if (count == 0) return RunFailed("no NVIDIA GPU is there");
  return count;
}

Result<std::string> CudaDeviceId(int ordinal) {
  cudaDeviceProp properties;
  SBP_RETURN_IF_ERROR(Checked(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties"));
  constexpr char kDigits[] = "0123456789abcdef";
  std::string id;
  for (const char c : properties.uuid.bytes) {
    const auto byte = static_cast<unsigned char>(c);
    id += kDigits[byte >> 4];
    id += kDigits[byte & 15];
  }
  return id;
}

Result<std::unique_ptr<Device>> OpenCudaDevice(int ordinal) {
  SBP_ASSIGN_OR_RETURN(const int count, CountCudaDevices());
  if (ordinal < 0 || ordinal >= count)
    return RunFailed(StrCat("there is no GPU ", ordinal, ": this process may use ", count));
  SBP_RETURN_IF_ERROR(Checked(cudaSetDevice(ordinal), "cudaSetDevice"));
  SBP_RETURN_IF_ERROR(Checked(cudaFree(nullptr), "making the device's context"));
  return std::unique_ptr<Device>(std::make_unique<CudaDevice>(ordinal));
}

}  // namespace sbp::gpu
