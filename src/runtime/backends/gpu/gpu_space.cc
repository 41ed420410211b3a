#include "runtime/backends/gpu/gpu_space.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/dtype.h"
#include "base/status.h"
#include "gpu/gpu.h"
#include "kernel/view.h"
#include "runtime/data/box.h"
#include "runtime/data/value.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

constexpr int64_t kStage = int64_t{8} << 20;  // bytes: large enough for a copy to run at the speed of the bus

}  // namespace

Result<std::shared_ptr<std::byte>> GpuSpace::Allocate(int64_t bytes) {
  SBP_ASSIGN_OR_RETURN(const gpu::Buffer memory, device_.device->Allocate(bytes));
  SBP_RETURN_IF_ERROR(stream_.Zero(memory.get(), bytes));
  // Others may write to it from another stream.
  SBP_RETURN_IF_ERROR(Await());
  return memory;
}

Result<GpuSpace::Stage*> GpuSpace::NextStage() {
  Stage& stage = stages_[next_++ % stages_.size()];
  if (stage.memory == nullptr) {
    SBP_ASSIGN_OR_RETURN(stage.memory, device_.device->AllocatePinned(kStage));
    SBP_ASSIGN_OR_RETURN(stage.used, stream_.MakeEvent(false));
  }
  if (stage.busy) SBP_RETURN_IF_ERROR(device_.Await(*stage.used));
  stage.busy = false;
  return &stage;
}

Status GpuSpace::Upload(const std::byte* host, std::byte* data, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += kStage) {
    const int64_t count = std::min(kStage, bytes - at);
    SBP_ASSIGN_OR_RETURN(Stage* const stage, NextStage());
    std::memcpy(stage->memory.get(), host + at, static_cast<size_t>(count));
    SBP_RETURN_IF_ERROR(stream_.Upload(stage->memory.get(), data + at, count));
    SBP_RETURN_IF_ERROR(stream_.Record(*stage->used));
    stage->busy = true;
  }
  return OkStatus();
}

Status GpuSpace::Download(const std::byte* data, std::byte* host, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += kStage) {
    const int64_t count = std::min(kStage, bytes - at);
    SBP_ASSIGN_OR_RETURN(Stage* const stage, NextStage());
    SBP_RETURN_IF_ERROR(stream_.Download(data + at, stage->memory.get(), count));
    SBP_RETURN_IF_ERROR(stream_.Record(*stage->used));
    SBP_RETURN_IF_ERROR(device_.Await(*stage->used));
    std::memcpy(host + at, stage->memory.get(), static_cast<size_t>(count));
  }
  return bytes == 0 ? Await() : OkStatus();
}

Result<Value> GpuSpace::TakeLater(const TensorView& view, const std::shared_ptr<std::byte>& room) {
  Value value{.view = view, .memory = room};
  value.view.data = room.get();
  if (view.bytes() > 0) SBP_RETURN_IF_ERROR(stream_.Download(view.data, room.get(), view.bytes()));
  return value;
}

Status GpuSpace::Await() {
  if (done_ == nullptr) {
    SBP_ASSIGN_OR_RETURN(done_, stream_.MakeEvent(false));
  }
  SBP_RETURN_IF_ERROR(stream_.Record(*done_));
  return device_.Await(*done_);
}

Status GpuSpace::CopyBox(DType dtype, const Box& part, const std::byte* source, const Box& source_box,
                         std::byte* target, const Box& target_box) {
  return device_.kernels->movement.copy_box(stream_, dtype, part, source, source_box, target, target_box);
}

Status GpuSpace::FillNeutral(DType dtype, ReduceKind kind, std::byte* target, int64_t count) {
  return device_.kernels->movement.fill_neutral(stream_, dtype, kind, target, count);
}

}  // namespace sbp
