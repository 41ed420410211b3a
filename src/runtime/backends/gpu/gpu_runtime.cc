#include "runtime/backends/gpu/gpu_runtime.h"

#include <memory>

#include "base/status.h"
#include "kernel/gpu/device_errors.h"
#include "runtime/backends/gpu/gpu_space.h"
#include "runtime/backends/gpu/op_graphs.h"

namespace sbp {

DeviceRuntime::Spaces GpuRuntime::MakeSpaces() {
  Spaces spaces;
  spaces.compute = std::make_unique<GpuSpace>(*device_, *device_->compute);
  spaces.communication = std::make_unique<GpuSpace>(*device_, *device_->communication);
  if (device_->use_graphs) spaces.replay = std::make_unique<OpGraphs>(*device_->compute);
  return spaces;
}

Status GpuRuntime::TakeErrors() { return TakeDeviceErrors(*device_->compute); }

}  // namespace sbp
