#include "runtime/backends/gpu/gpu_backend.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <thread>

#include "base/status.h"
#include "base/text.h"
#include "gpu/collectives.h"
#include "gpu/gpu.h"
#include "runtime/actors/actor_engine.h"
#include "runtime/actors/actor_graph.h"
#include "runtime/backends/gpu/gpu_communicator.h"
#include "runtime/backends/gpu/gpu_shares.h"
#include "runtime/backends/gpu/streamed_run.h"
#include "runtime/exchange/communicator.h"
#include "runtime/execute/device_runtime.h"
#include "runtime/processes/machine.h"
#include "sbp/mesh.h"

namespace sbp {
namespace {

std::string Gpus(int64_t count) { return StrCat(count, count == 1 ? " GPU" : " GPUs"); }

// One device's way into its groups: all devices of the mesh do this at once.
struct GroupJoin {
  Mesh mesh;
  std::string id;
  std::shared_ptr<GpuPlatform> platform;
  std::shared_ptr<GpuDevice> gpu;

  using Group = std::shared_ptr<gpu::Collectives>;
  int rank() const { return static_cast<int>(gpu->position); }
  int size() const { return static_cast<int>(mesh.num_devices()); }

  Result<Group> Join() const {
    if (size() == 1) return Group();
    SBP_ASSIGN_OR_RETURN(Group group, platform->JoinGroup(*gpu->device, id, rank(), size()));
    SBP_RETURN_IF_ERROR(gpu->news->Watch(group));
    return group;
  }

  // The part of `everybody` along an axis; null for a group of one.
  Result<Group> Along(int axis, const Group& everybody) const {
    if (mesh.size(axis) == 1) return Group();
    if (mesh.size(axis) == size()) return everybody;
    const std::vector<std::vector<int64_t>> groups = mesh.Groups(axis);
    const auto own = std::find_if(groups.begin(), groups.end(), [&](const std::vector<int64_t>& group) {
      return std::find(group.begin(), group.end(), rank()) != group.end();
    });
    SBP_ASSIGN_OR_RETURN(Group along, everybody->Split(static_cast<int>(own - groups.begin())));
    SBP_RETURN_IF_ERROR(gpu->news->Watch(along));
    return along;
  }

  Status Run(DeviceCommunicators& handles) const {
    SBP_RETURN_IF_ERROR(gpu->device->Use());
    SBP_ASSIGN_OR_RETURN(const Group everybody, Join());
    auto all = std::make_unique<GpuCommunicator>(everybody, *gpu, *gpu->communication);
    SBP_RETURN_IF_ERROR(all->Warm());
    for (int axis = 0; axis < mesh.num_axes(); ++axis) {
      SBP_ASSIGN_OR_RETURN(const Group along, Along(axis, everybody));
      auto handle = std::make_unique<GpuCommunicator>(along, *gpu, *gpu->communication);
      if (along != everybody) SBP_RETURN_IF_ERROR(handle->Warm());
      handles.axes.push_back(std::move(handle));
    }
    handles.all = std::move(all);
    return OkStatus();
  }
};

// The devices of this process on their way into the groups.
class Joining {
 public:
  explicit Joining(size_t devices) : handles_(devices), statuses_(devices), missing_(devices) {}

  void Put(size_t index, const Status& status, DeviceCommunicators handles) {
    const std::lock_guard lock(mutex_);
    handles_[index] = std::move(handles);
    statuses_[index] = status;
    failed_ = failed_ || !status.ok();
    --missing_;
    changed_.notify_all();
  }

  // All handles, or the failure that keeps a device from its own: somebody else's may leave it hanging for ever.
  Result<MeshCommunicators> Wait(GpuNews& news) {
    std::unique_lock lock(mutex_);
    const auto settled = [&] { return missing_ == 0 || failed_; };
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!changed_.wait_for(lock, kLook, settled)) {
      SBP_RETURN_IF_ERROR(news.status());
      if (std::chrono::steady_clock::now() < deadline) continue;
      return RunFailed(StrCat("the devices' groups were not complete after ", kPatience.count(),
                              " s: another device does not come, or cannot be reached by NCCL"));
    }
    if (failed_) {
      changed_.wait_for(lock, kGrace, [&] { return missing_ == 0; });
      for (const Status& status : statuses_) SBP_RETURN_IF_ERROR(status);
    }
    return std::move(handles_);
  }

 private:
  static constexpr std::chrono::milliseconds kLook{50}, kGrace{1000};
  static constexpr std::chrono::seconds kPatience{180};
  std::mutex mutex_;
  std::condition_variable changed_;
  MeshCommunicators handles_;
  std::vector<Status> statuses_;
  size_t missing_;
  bool failed_ = false;
};

}  // namespace

GpuBackend::GpuBackend(std::unique_ptr<GpuPlatform> platform, std::shared_ptr<Launch> launch,
                       const BackendOptions& options)
    : platform_(std::move(platform)), launch_(std::move(launch)), options_(options) {}

Result<std::vector<int64_t>> GpuBackend::Claim(const Mesh& mesh) {
  positions_.clear();
  ordinals_.clear();
  const int64_t devices = mesh.num_devices();
  const int processes = launch_->size();
  if (processes > 1 && processes != devices) {
    return UsageError(StrCat("the plan is for ", devices, " devices (mesh ", ToString(mesh), "), but ", processes,
                             " processes were launched by ", launch_->name(), "; start one a device, or one in all"));
  }
  SBP_RETURN_IF_ERROR(processes == 1 ? ClaimAll(devices) : ClaimOne());
  return positions_;
}

Status GpuBackend::ClaimAll(int64_t devices) {
  SBP_ASSIGN_OR_RETURN(const int gpus, platform_->CountDevices());
  if (devices > gpus) {
    return UsageError(StrCat(devices, " devices are to run on this machine (", HostName(), "), which has ", Gpus(gpus),
                             "; to run several on one, start one process a device: mpirun -n ", devices,
                             " sbp-plan run ... --ranks-per-gpu ", (devices + gpus - 1) / std::max(gpus, 1)));
  }
  for (int64_t position = 0; position < devices; ++position) {
    positions_.push_back(position);
    ordinals_.push_back(static_cast<int>(position));
  }
  return OkStatus();
}

Status GpuBackend::ClaimOne() {
  if (options_.ranks_per_gpu > 1) platform_->ShareGpus(StrCat(HostName(), "-", launch_->rank()));
  VisibleGpus mine{HostName(), {}};
  SBP_ASSIGN_OR_RETURN(const int gpus, platform_->CountDevices());
  for (int g = 0; g < gpus; ++g) {
    SBP_ASSIGN_OR_RETURN(mine.ids.emplace_back(), platform_->Identify(g));
  }
  SBP_ASSIGN_OR_RETURN(const std::vector<std::string> texts, launch_->AllGather(mine.ToText()));
  std::vector<VisibleGpus> all;
  for (const std::string& text : texts) all.push_back(VisibleGpus::FromText(text));
  SBP_ASSIGN_OR_RETURN(const int ordinal, ChooseGpu(all, launch_->rank(), options_.ranks_per_gpu));
  positions_ = {launch_->rank()};
  ordinals_ = {ordinal};
  return OkStatus();
}

Status GpuBackend::OpenDevices(const Mesh& mesh) {
  if (news_ != nullptr) news_->Stop();  // of the plan before
  gpus_.clear();
  runtimes_.clear();
  news_ = std::make_shared<GpuNews>(launch_);
  for (size_t i = 0; i < positions_.size(); ++i) {
    auto gpu = std::make_shared<GpuDevice>();
    gpu->position = positions_[i];
    SBP_ASSIGN_OR_RETURN(gpu->device, platform_->Open(ordinals_[i]));
    SBP_RETURN_IF_ERROR(gpu->device->Use());
    SBP_ASSIGN_OR_RETURN(gpu->compute, gpu->device->MakeStream());
    SBP_ASSIGN_OR_RETURN(gpu->communication, gpu->device->MakeStream());
    gpu->kernels = &platform_->kernels();
    gpu->news = news_;
    gpu->allow_tf32 = options_.allow_tf32;
    gpu->use_graphs = options_.use_graphs;
    gpu->timeout = std::chrono::seconds(options_.patience);
    runtimes_.push_back(std::make_unique<GpuRuntime>(gpu));
    gpus_.push_back(std::move(gpu));
  }
  SBP_ASSIGN_OR_RETURN(const gpu::DeviceInfo info, gpus_[0]->device->Info());
  memory_ = {};
  SBP_RETURN_IF_ERROR(MarkMemory("before the run: its context, and other processes"));
  const int64_t devices = mesh.num_devices();
  description_ = StrCat(
      info.name, options_.allow_tf32 ? ", tf32 products" : "", " (", info.library, "), ",
      options_.ranks_per_gpu > 1 && launch_->size() > 1 ? StrCat(options_.ranks_per_gpu, " devices a GPU, ") : "",
      devices, devices == 1 ? " device, " : " devices, ", launch_->name());
  return OkStatus();
}

Result<MeshCommunicators> GpuBackend::Connect(const Mesh& mesh) {
  SBP_RETURN_IF_ERROR(OpenDevices(mesh));
  std::string own;
  if (leads() && mesh.num_devices() > 1) {
    SBP_ASSIGN_OR_RETURN(own, platform_->MakeGroupId());
  }
  SBP_ASSIGN_OR_RETURN(const std::vector<std::string> all, launch_->AllGather(own));
  const auto joining = std::make_shared<Joining>(gpus_.size());
  for (size_t i = 0; i < gpus_.size(); ++i) {
    // What the thread needs it holds itself: it may be left behind.
    std::thread([joining, i, join = GroupJoin{mesh, all[0], platform_, gpus_[i]}]() mutable {
      DeviceCommunicators handles;
      const Status status = join.Run(handles);
      joining->Put(i, status, std::move(handles));
    }).detach();
  }
  SBP_ASSIGN_OR_RETURN(MeshCommunicators handles, joining->Wait(*news_));
  SBP_RETURN_IF_ERROR(MarkMemory("communicators"));
  return handles;
}

Status GpuBackend::MarkMemory(std::string_view phase) {
  SBP_ASSIGN_OR_RETURN(const gpu::MemoryState now, gpus_[0]->device->Memory());
  const int64_t used = now.total_bytes - now.free_bytes, before = memory_.total_bytes - memory_.free_bytes;
  memory_.phases.push_back({std::string(phase), used - before});
  memory_.total_bytes = now.total_bytes;
  memory_.free_bytes = now.free_bytes;
  return OkStatus();
}

std::vector<DeviceRuntime*> GpuBackend::runtimes() {
  std::vector<DeviceRuntime*> runtimes;
  for (const std::unique_ptr<GpuRuntime>& runtime : runtimes_) runtimes.push_back(runtime.get());
  return runtimes;
}

EngineResult GpuBackend::RunActors(const ActorGraph& graph, TaskRunner& runner, const EngineOptions& options) {
  return RunStreamed(graph, runner, gpus(), options);
}

std::vector<GpuDevice*> GpuBackend::gpus() {
  std::vector<GpuDevice*> gpus;
  for (const std::shared_ptr<GpuDevice>& gpu : gpus_) gpus.push_back(gpu.get());
  return gpus;
}

Result<int64_t> GpuBackend::CountDevices() {
  if (launch_->size() > 1) return launch_->size();
  SBP_ASSIGN_OR_RETURN(const int gpus, platform_->CountDevices());
  return gpus;
}

Result<std::vector<std::string>> GpuBackend::Hosts() { return launch_->AllGather(HostName()); }

Result<Machine> GpuBackend::DescribeMachine(int64_t devices) {
  SBP_ASSIGN_OR_RETURN(const std::shared_ptr<gpu::Device> device, platform_->Open(0));
  SBP_ASSIGN_OR_RETURN(const gpu::DeviceInfo info, device->Info());
  Machine machine = ThisHost(devices);
  machine.description = StrCat(info.name, " (", info.library, "), ", machine.description);
  machine.memory_bytes = info.memory_bytes / options_.ranks_per_gpu;
  return machine;
}

Result<std::string> GpuBackend::Share(std::string mine) {
  SBP_ASSIGN_OR_RETURN(std::vector<std::string> all, launch_->AllGather(leads() ? mine : ""));
  return std::move(all[0]);
}

Result<bool> GpuBackend::Any(bool mine) {
  SBP_ASSIGN_OR_RETURN(const std::vector<std::string> all, launch_->AllGather(mine ? "1" : "0"));
  return std::find(all.begin(), all.end(), "1") != all.end();
}

Status GpuBackend::Finish(const Status& status, const LastWords& last_words) {
  if (news_ != nullptr) {
    if (!status.ok()) news_->Abort(status);  // ends what other devices would wait for
    news_->Stop();
  }
  const Status result = launch_->Finish(status, last_words);
  if (news_ != nullptr && !result.ok()) news_->EndCollectives();  // else their end waits for all members
  return leads() || result.ok() ? result : Status(result.code(), "");
}

}  // namespace sbp
