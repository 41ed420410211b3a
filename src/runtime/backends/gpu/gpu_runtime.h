// A GPU as runs see it.
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "base/status.h"
#include "kernel/kernel.h"
#include "runtime/backends/gpu/gpu_device.h"
#include "runtime/execute/device_runtime.h"

namespace sbp {

class GpuRuntime : public DeviceRuntime {
 public:
  explicit GpuRuntime(std::shared_ptr<GpuDevice> device) : device_(std::move(device)) {}

  std::span<const KernelRow> kernels() const override { return device_->kernels->rows; }
  bool allow_tf32() const override { return device_->allow_tf32; }
  Status Use() override { return device_->device->Use(); }
  Spaces MakeSpaces() override;
  bool is_asynchronous() const override { return true; }
  Status TakeErrors() override;

 private:
  const std::shared_ptr<GpuDevice> device_;
};

}  // namespace sbp
