// Memory of a GPU, as one of its streams sees it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/dtype.h"
#include "base/status.h"
#include "gpu/gpu.h"
#include "kernel/view.h"
#include "runtime/backends/gpu/gpu_device.h"
#include "runtime/data/box.h"
#include "runtime/data/space.h"
#include "runtime/data/value.h"
#include "sbp/sbp.h"

namespace sbp {

// Of one stream; used by one thread at a time. Uploads go through pinned memory of a fixed size, so that they overlap
// with what runs; a download waits, and gives up when the run fails.
class GpuSpace : public Space {
 public:
  // Both outlive the space.
  GpuSpace(GpuDevice& device, gpu::Stream& stream) : device_(device), stream_(stream) {}

  gpu::Stream* stream() override { return &stream_; }
  Result<std::shared_ptr<std::byte>> Allocate(int64_t bytes) override;
  Status Upload(const std::byte* host, std::byte* data, int64_t bytes) override;
  Status Download(const std::byte* data, std::byte* host, int64_t bytes) override;
  // Pinned.
  Result<std::shared_ptr<std::byte>> AllocateOnHost(int64_t bytes) override {
    return device_.device->AllocatePinned(bytes);
  }
  Result<Value> TakeLater(const TensorView& view, const std::shared_ptr<std::byte>& room) override;
  Status Await() override;
  Status CopyBox(DType dtype, const Box& part, const std::byte* source, const Box& source_box, std::byte* target,
                 const Box& target_box) override;
  Status FillNeutral(DType dtype, ReduceKind kind, std::byte* target, int64_t count) override;

 private:
  // A piece of pinned memory, in use until its event has come.
  struct Stage {
    gpu::Buffer memory;
    std::unique_ptr<gpu::Event> used;
    bool busy = false;
  };
  Result<Stage*> NextStage();

  GpuDevice& device_;
  gpu::Stream& stream_;
  std::array<Stage, 2> stages_;
  size_t next_ = 0;
  std::unique_ptr<gpu::Event> done_;
};

}  // namespace sbp
