// The cpu backend: all devices are threads of this process.
#include <cstdint>
#include <memory>
#include <numeric>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "runtime/backends/backend.h"
#include "runtime/backends/threads/thread_communicator.h"
#include "runtime/exchange/communicator.h"
#include "runtime/processes/failure_detector.h"
#include "sbp/mesh.h"

namespace sbp {
namespace {

constexpr int64_t kMaxDevices = 256;  // two threads each

class ThreadBackend : public Backend {
 public:
  std::string_view name() const override { return "cpu"; }
  Result<std::vector<int64_t>> Claim(const Mesh& mesh) override {
    if (mesh.num_devices() > kMaxDevices) {
      return RunFailed(StrCat("the plan is for ", mesh.num_devices(), " devices; the cpu backend runs at most ",
                              kMaxDevices, " as threads"));
    }
    std::vector<int64_t> devices(static_cast<size_t>(mesh.num_devices()));
    std::iota(devices.begin(), devices.end(), 0);
    return devices;
  }

  Result<MeshCommunicators> Connect(const Mesh& mesh) override {
    return MakeThreadCommunicators(mesh, {}, std::make_shared<FirstFailure>());
  }
};

}  // namespace

Result<std::unique_ptr<Backend>> StartThreadBackend(const BackendOptions&) {
  return std::unique_ptr<Backend>(std::make_unique<ThreadBackend>());
}

}  // namespace sbp
