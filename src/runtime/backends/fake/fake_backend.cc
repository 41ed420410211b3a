// The fake backend: any number of devices in virtual time (simulate.h).
#include <cstdint>
#include <memory>
#include <numeric>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "runtime/backends/backend.h"
#include "runtime/exchange/communicator.h"
#include "sbp/mesh.h"

namespace sbp {
namespace {

constexpr int64_t kMaxDevices = 65'536;

class FakeBackend : public Backend {
 public:
  std::string_view name() const override { return "fake"; }
  bool is_virtual() const override { return true; }

  Result<std::vector<int64_t>> Claim(const Mesh& mesh) override {
    if (mesh.num_devices() > kMaxDevices) {
      return RunFailed(StrCat("the plan is for ", mesh.num_devices(), " devices; the fake backend has ", kMaxDevices));
    }
    std::vector<int64_t> devices(static_cast<size_t>(mesh.num_devices()));
    std::iota(devices.begin(), devices.end(), 0);
    return devices;
  }

  Result<MeshCommunicators> Connect(const Mesh& /*mesh*/) override { return Defect("the fake backend moves no data"); }
};

}  // namespace

Result<std::unique_ptr<Backend>> StartFakeBackend(const BackendOptions&) {
  return std::unique_ptr<Backend>(std::make_unique<FakeBackend>());
}

}  // namespace sbp
