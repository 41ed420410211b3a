#include "runtime/gpu/gpu_backend.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <thread>

#include "base/text.h"
#include "runtime/gpu/gpu_communicator.h"

namespace sbp {
namespace {

std::string HostName() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string Gpus(int64_t count) { return StrCat(count, count == 1 ? " GPU" : " GPUs"); }

}  // namespace

GpuBackend::GpuBackend(std::unique_ptr<GpuPlatform> platform, std::unique_ptr<Launch> launch,
                       const BackendOptions& options)
    : platform_(std::move(platform)), launch_(std::move(launch)), options_(options) {}

// Groups end before the devices that they run on.
GpuBackend::~GpuBackend() {
  news_.reset();
  for (const std::unique_ptr<GpuDevice>& gpu : gpus_) gpu->news.reset();
}

// A machine's processes share its GPUs in the order of their ranks.
Result<std::vector<int64_t>> GpuBackend::Claim(const Mesh& mesh) {
  const int64_t devices = mesh.num_devices();
  const int processes = launch_->size();
  if (processes > 1 && processes != devices) {
    return UsageError(StrCat("the plan is for ", devices, " devices (mesh ", ToString(mesh), "), but ", processes,
                             " processes were launched by ", launch_->name(), "; start one a device, or one in all"));
  }
  const std::string host = HostName();
  SBP_ASSIGN_OR_RETURN(const std::vector<std::string> hosts, launch_->AllGather(host));
  if (options_.ranks_per_gpu > 1 && processes > 1) platform_->ShareGpus(StrCat(host, "-", launch_->rank()));
  SBP_ASSIGN_OR_RETURN(const int gpus, platform_->CountDevices());
  if (processes == 1) {
    SBP_RETURN_IF_ERROR(CheckShares(devices, gpus));
    positions_.resize(static_cast<size_t>(devices));
    std::iota(positions_.begin(), positions_.end(), 0);
    for (const int64_t position : positions_) ordinals_.push_back(static_cast<int>(position));
    return positions_;
  }
  SBP_RETURN_IF_ERROR(CheckShares(std::count(hosts.begin(), hosts.end(), host), gpus));
  const auto local_rank = std::count(hosts.begin(), hosts.begin() + launch_->rank(), host);
  positions_ = {launch_->rank()};
  ordinals_ = {static_cast<int>(local_rank / options_.ranks_per_gpu)};
  return positions_;
}

Status GpuBackend::CheckShares(int64_t local_ranks, int gpus) const {
  const std::string have = StrCat(local_ranks, " devices are to run on this machine (", HostName(), "), which has ",
                                  Gpus(gpus));
  if (launch_->size() == 1) {
    if (local_ranks <= gpus) return OkStatus();
    return UsageError(StrCat(have, "; to run several on one, start one process a device: mpirun -n ", local_ranks,
                             " sbp-plan run ... --ranks-per-gpu ", (local_ranks + gpus - 1) / std::max(gpus, 1)));
  }
  if (local_ranks <= int64_t{gpus} * options_.ranks_per_gpu) return OkStatus();
  return UsageError(StrCat(have, "; --ranks-per-gpu ", (local_ranks + gpus - 1) / std::max(gpus, 1),
                           " runs several on one"));
}

Status GpuBackend::OpenDevices(const Mesh& mesh) {
  news_ = std::make_shared<GpuNews>(*launch_);
  for (size_t i = 0; i < positions_.size(); ++i) {
    auto gpu = std::make_unique<GpuDevice>();
    gpu->position = positions_[i];
    SBP_ASSIGN_OR_RETURN(gpu->device, platform_->Open(ordinals_[i]));
    SBP_RETURN_IF_ERROR(gpu->device->Use());
    SBP_ASSIGN_OR_RETURN(gpu->compute, gpu->device->MakeStream());
    SBP_ASSIGN_OR_RETURN(gpu->communication, gpu->device->MakeStream());
    gpu->kernels = &platform_->kernels();
    gpu->news = news_;
    gpu->allow_tf32 = options_.allow_tf32;
    gpus_.push_back(std::move(gpu));
  }
  SBP_ASSIGN_OR_RETURN(const gpu::DeviceInfo info, gpus_[0]->device->Info());
  const int64_t devices = mesh.num_devices();
  description_ = StrCat(info.name, options_.allow_tf32 ? ", tf32 products" : "", " (", info.library, "), ",
                        options_.ranks_per_gpu > 1 && launch_->size() > 1
                            ? StrCat(options_.ranks_per_gpu, " devices a GPU, ")
                            : "",
                        devices, devices == 1 ? " device, " : " devices, ", launch_->name());
  return OkStatus();
}

Result<StreamCommunicators> GpuBackend::Connect(const Mesh& mesh) {
  SBP_RETURN_IF_ERROR(OpenDevices(mesh));
  // One id for each of the two streams' groups of all devices.
  std::string ids;
  size_t id_bytes = 0;
  for (int s = 0; s < 2 && leads() && mesh.num_devices() > 1; ++s) {
    SBP_ASSIGN_OR_RETURN(const std::string id, platform_->MakeGroupId());
    ids += id;
    id_bytes = id.size();
  }
  SBP_ASSIGN_OR_RETURN(const std::vector<std::string> all, launch_->AllGather(ids));
  ids = all[0];
  id_bytes = ids.size() / 2;
  StreamCommunicators handles;
  handles.compute.resize(gpus_.size());
  handles.communication.resize(gpus_.size());
  std::vector<Status> results(gpus_.size());
  std::vector<std::thread> threads;  // groups come together when all of their devices call
  for (size_t i = 0; i < gpus_.size(); ++i) {
    threads.emplace_back([&, i] {
      results[i] = ConnectDevice(mesh, ids, i, handles.compute[i], handles.communication[i]);
      if (!results[i].ok()) news_->Abort(results[i]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  (void)id_bytes;
  SBP_RETURN_IF_ERROR(news_->status());
  return handles;
}

Status GpuBackend::ConnectDevice(const Mesh& mesh, const std::string& ids, size_t index, DeviceCommunicators& compute,
                                 DeviceCommunicators& communication) {
  GpuDevice& gpu = *gpus_[index];
  const auto rank = static_cast<int>(positions_[index]);
  const auto size = static_cast<int>(mesh.num_devices());
  SBP_RETURN_IF_ERROR(gpu.device->Use());
  using Group = std::shared_ptr<gpu::Collectives>;
  const auto join = [&](const std::string& id) -> Result<Group> {
    if (size == 1) return Group();
    SBP_ASSIGN_OR_RETURN(Group group, platform_->JoinGroup(*gpu.device, id, rank, size));
    SBP_RETURN_IF_ERROR(news_->Watch(group));
    return group;
  };
  const auto handle = [&](const Group& group, gpu::Stream& stream) {
    return std::make_unique<GpuCommunicator>(group, gpu, stream);
  };
  // On the compute stream only halos are exchanged, between all devices.
  SBP_ASSIGN_OR_RETURN(const Group of_compute, join(ids.substr(0, ids.size() / 2)));
  compute.all = handle(of_compute, *gpu.compute);
  SBP_ASSIGN_OR_RETURN(const Group everybody, join(ids.substr(ids.size() / 2)));
  communication.all = handle(everybody, *gpu.communication);
  for (int axis = 0; axis < mesh.num_axes(); ++axis) {
    Group along = mesh.size(axis) == size ? everybody : Group();
    const std::vector<std::vector<int64_t>> groups = mesh.Groups(axis);
    for (size_t g = 0; g < groups.size() && mesh.size(axis) > 1 && along == nullptr; ++g) {
      if (std::find(groups[g].begin(), groups[g].end(), rank) == groups[g].end()) continue;
      SBP_ASSIGN_OR_RETURN(along, everybody->Split(static_cast<int>(g)));
      SBP_RETURN_IF_ERROR(news_->Watch(along));
    }
    communication.axes.push_back(handle(along, *gpu.communication));
  }
  return OkStatus();
}

std::vector<GpuDevice*> GpuBackend::gpus() {
  std::vector<GpuDevice*> gpus;
  for (const std::unique_ptr<GpuDevice>& gpu : gpus_) gpus.push_back(gpu.get());
  return gpus;
}

Result<bool> GpuBackend::Any(bool mine) {
  SBP_ASSIGN_OR_RETURN(const std::vector<std::string> all, launch_->AllGather(mine ? "1" : "0"));
  return std::find(all.begin(), all.end(), "1") != all.end();
}

Status GpuBackend::Finish(const Status& status, const LastWords& last_words) {
  if (!status.ok() && news_ != nullptr) news_->Abort(status);  // ends what other devices would wait for
  const Status result = launch_->Finish(status, last_words);
  return leads() || result.ok() ? result : Status(result.code(), "");
}

}  // namespace sbp
