// Space: where the data of one device lie, as one of its streams sees them: memory of this process, or of a GPU
// (gpu/gpu_space.h). What the runtime does to data besides kernels and collectives goes through it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/dtype.h"
#include "base/status.h"
#include "graph/literal.h"
#include "kernel/view.h"
#include "runtime/data/box.h"
#include "runtime/data/value.h"
#include "sbp/sbp.h"

namespace sbp {

namespace gpu {
class Stream;
}

class Space {
 public:
  virtual ~Space() = default;

  // The stream that the calls below and kernels go to, in their order; nullptr: they are done when they return, and
  // kernels are those of the CPU.
  virtual gpu::Stream* stream() { return nullptr; }

  // Zeroed, aligned as views need. Error: out of memory.
  virtual Result<std::shared_ptr<std::byte>> Allocate(int64_t bytes) = 0;

  // From and to memory of this process. `host` may change as soon as Upload returns; it holds the values when Download
  // does, which waits for all calls before it.
  virtual Status Upload(const std::byte* host, std::byte* data, int64_t bytes) = 0;
  virtual Status Download(const std::byte* data, std::byte* host, int64_t bytes) = 0;
  // Memory of this process that TakeLater copies to; nullptr where it does without.
  virtual Result<std::shared_ptr<std::byte>> AllocateOnHost(int64_t bytes) = 0;
  // A copy in memory of this process, in `room` (of AllocateOnHost, and large enough), whose values are there once
  // `Await` has returned.
  virtual Result<Value> TakeLater(const TensorView& view, const std::shared_ptr<std::byte>& room) = 0;
  // All calls so far are done.
  virtual Status Await() = 0;

  // As in box.h and reduce.h; CanReduce is required.
  virtual Status CopyBox(DType dtype, const Box& part, const std::byte* source, const Box& source_box,
                         std::byte* target, const Box& target_box) = 0;
  virtual Status FillNeutral(DType dtype, ReduceKind kind, std::byte* target, int64_t count) = 0;

  // Lets `fill` write the elements of a view whose data lie here; it is given memory of this process.
  virtual Status Write(const TensorView& view, const std::function<void(const TensorView&)>& fill);
  // The elements in memory of this process, for as long as the view's are not written: those of the view, or a copy.
  virtual Result<Value> Read(const TensorView& view) { return CopyOf(view); }
  // A copy in memory of this process.
  Result<Value> CopyOf(const TensorView& view);
  // As runtime/data/value.h's, of a view whose data lie here.
  LiteralRef SmallValuesOf(const TensorView& view);
};

// Memory of this process. Has no state.
class HostSpace : public Space {
 public:
  Result<std::shared_ptr<std::byte>> Allocate(int64_t bytes) override;
  Status Upload(const std::byte* host, std::byte* data, int64_t bytes) override;
  Status Download(const std::byte* data, std::byte* host, int64_t bytes) override;
  Result<std::shared_ptr<std::byte>> AllocateOnHost(int64_t /*bytes*/) override { return std::shared_ptr<std::byte>(); }
  Result<Value> TakeLater(const TensorView& view, const std::shared_ptr<std::byte>& /*room*/) override {
    return CopyOf(view);
  }
  Status Write(const TensorView& view, const std::function<void(const TensorView&)>& fill) override {
    fill(view);
    return OkStatus();
  }
  Result<Value> Read(const TensorView& view) override { return Value{.view = view}; }
  Status Await() override { return OkStatus(); }
  Status CopyBox(DType dtype, const Box& part, const std::byte* source, const Box& source_box, std::byte* target,
                 const Box& target_box) override;
  Status FillNeutral(DType dtype, ReduceKind kind, std::byte* target, int64_t count) override;
};

}  // namespace sbp
