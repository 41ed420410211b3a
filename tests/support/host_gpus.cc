#include "support/host_gpus.h"

#include <atomic>

#include "base/text.h"
#include "gpu/host/host.h"
#include "support/launch_collectives.h"

namespace sbp {
namespace {

// A device with so much memory.
class SmallDevice : public gpu::Device {
 public:
  SmallDevice(std::unique_ptr<gpu::Device> device, int64_t bytes)
      : device_(std::move(device)), free_(std::make_shared<std::atomic<int64_t>>(bytes)) {}

  Result<gpu::DeviceInfo> Info() override { return device_->Info(); }
  Result<gpu::MemoryState> Memory() override { return device_->Memory(); }
  int ordinal() const override { return device_->ordinal(); }
  Result<gpu::Buffer> Allocate(int64_t bytes) override {
    if (free_->fetch_sub(bytes) < bytes) {
      const int64_t left = free_->fetch_add(bytes) + bytes;
      return RunFailed(StrCat("out of memory: ", bytes, " bytes were asked for, ", left, " are free"));
    }
    SBP_ASSIGN_OR_RETURN(gpu::Buffer memory, device_->Allocate(bytes));
    return gpu::Buffer(memory.get(), [memory, free = free_, bytes](std::byte*) { free->fetch_add(bytes); });
  }
  Result<gpu::Buffer> AllocatePinned(int64_t bytes) override { return device_->AllocatePinned(bytes); }
  Status Use() override { return device_->Use(); }
  Result<std::unique_ptr<gpu::Stream>> MakeStream() override { return device_->MakeStream(); }

 private:
  const std::unique_ptr<gpu::Device> device_;
  const std::shared_ptr<std::atomic<int64_t>> free_;
};

class HostPlatform : public GpuPlatform {
 public:
  explicit HostPlatform(const HostGpus& gpus, std::shared_ptr<Launch> launch = nullptr)
      : gpus_(gpus), launch_(std::move(launch)) {}

  std::string_view name() const override { return "host"; }
  Result<int> CountDevices() override { return gpus_.count; }
  Result<std::unique_ptr<gpu::Device>> Open(int ordinal) override {
    std::unique_ptr<gpu::Device> device = gpu::OpenHostDevice(ordinal);
    if (gpus_.memory_bytes < 0) return device;
    return std::unique_ptr<gpu::Device>(std::make_unique<SmallDevice>(std::move(device), gpus_.memory_bytes));
  }
  Result<std::string> Identify(int ordinal) override { return StrCat("host ", ordinal); }
  const GpuKernels& kernels() const override { return gpus_.kernels != nullptr ? *gpus_.kernels : HostKernels(); }
  Result<std::string> MakeGroupId() override { return groups_.MakeId(); }
  Result<std::shared_ptr<gpu::Collectives>> JoinGroup(gpu::Device&, const std::string& id, int rank,
                                                      int size) override {
    if (launch_ != nullptr) return JoinByLaunch(launch_);
    return groups_.Join(id, rank, size);
  }
  void ShareGpus(const std::string&) override {}

 private:
  const HostGpus gpus_;
  const std::shared_ptr<Launch> launch_;
  gpu::HostGroups groups_;
};

}  // namespace

std::unique_ptr<GpuPlatform> MakeHostPlatform(const HostGpus& gpus) { return std::make_unique<HostPlatform>(gpus); }

std::unique_ptr<GpuBackend> MakeHostBackend(const HostGpus& gpus, const BackendOptions& options) {
  return std::make_unique<GpuBackend>(MakeHostPlatform(gpus), AloneLaunch(), options);
}

std::unique_ptr<Backend> MakeLaunchedHostBackend(const HostGpus& gpus, std::shared_ptr<Launch> launch,
                                                 const BackendOptions& options) {
  if (launch->size() == 1) return MakeHostBackend(gpus, options);
  return std::make_unique<GpuBackend>(std::make_unique<HostPlatform>(gpus, launch), launch, options);
}

}  // namespace sbp
