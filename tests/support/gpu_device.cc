#include "support/gpu_device.h"

#include <gtest/gtest.h>

#include "gpu/host/host.h"

namespace sbp {

TestGpu OpenTestGpu() {
  TestGpu gpu;
  if (CudaKernels() != nullptr && gpu::CountCudaDevices().ok()) {
    gpu.kernels = CudaKernels();
    auto device = gpu::OpenCudaDevice(0);
    EXPECT_TRUE(device.ok()) << device.status().message();
    if (device.ok()) gpu.device = std::move(*device);
  } else {
    gpu.kernels = &HostKernels();
    gpu.device = gpu::OpenHostDevice(0);
  }
  auto stream = gpu.device->MakeStream();
  EXPECT_TRUE(stream.ok()) << stream.status().message();
  gpu.stream = std::move(*stream);
  return gpu;
}

std::byte* TestGpu::Put(const void* data, int64_t bytes) {
  std::byte* memory = nullptr;
  if (kernels == &HostKernels()) {
    auto buffer = device->Allocate(bytes);
    EXPECT_TRUE(buffer.ok()) << buffer.status().message();
    buffers.push_back(std::move(*buffer));
    memory = buffers.back().get();
  } else {
    auto scratch = stream->Scratch(bytes);
    EXPECT_TRUE(scratch.ok()) << scratch.status().message();
    memory = *scratch;
  }
  const Status status = stream->UploadNow(static_cast<const std::byte*>(data), memory, bytes);
  EXPECT_TRUE(status.ok()) << status.message();
  return memory;
}

void TestGpu::Reset() {
  buffers.clear();
  stream->ResetScratch();
}

void TestGpu::Take(const std::byte* data, void* target, int64_t bytes) {
  for (const Status& status : {stream->Download(data, static_cast<std::byte*>(target), bytes), stream->Synchronize()})
    EXPECT_TRUE(status.ok()) << status.message();
}

}  // namespace sbp
