#include "runtime/execute/device_runtime.h"

#include "runtime/data/machine_memory.h"

namespace sbp {
namespace {

class HostDeviceRuntime : public DeviceRuntime {
 public:
  Spaces MakeSpaces() override { return {std::make_unique<HostSpace>(), std::make_unique<HostSpace>(), nullptr}; }
  std::optional<int64_t> AvailableBytes() const override { return AvailableMemory(); }
};

}  // namespace

DeviceRuntime& HostRuntime() {
  static HostDeviceRuntime runtime;
  return runtime;
}

}  // namespace sbp
