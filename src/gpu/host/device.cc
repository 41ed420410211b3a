// A device that is memory of this process; calls on its streams are done when they return.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "gpu/gpu.h"
#include "gpu/host/compute.h"
#include "gpu/host/host.h"
#include "gpu/scratch_blocks.h"

namespace sbp::gpu {
namespace {

using Clock = std::chrono::steady_clock;

struct HostGraph : Graph {
  std::vector<std::function<void()>> calls;
};

struct HostEvent : Event {
  explicit HostEvent(bool timed) : timed(timed) {}
  Result<bool> IsDone() override { return true; }

  bool timed, recorded = false;
  Clock::time_point time;
};

class HostStream : public Stream {
 public:
  explicit HostStream(Device& device) : scratch_(device) {}

  Status Upload(const std::byte* host, std::byte* device, int64_t bytes) override {
    SBP_RETURN_IF_ERROR(CheckNoGraph());
    return Copy(host, device, bytes);
  }
  Status UploadNow(const std::byte* host, std::byte* device, int64_t bytes) override {
    return Upload(host, device, bytes);
  }
  Status Download(const std::byte* device, std::byte* host, int64_t bytes) override {
    SBP_RETURN_IF_ERROR(CheckNoGraph());
    return Copy(device, host, bytes);
  }
  Status Copy(const std::byte* from, std::byte* to, int64_t bytes) override {
    Do([=] {
      if (bytes > 0 && from != to) std::memcpy(to, from, static_cast<size_t>(bytes));
    });
    return OkStatus();
  }
  Status Zero(std::byte* data, int64_t bytes) override {
    Do([=] {
      if (bytes > 0) std::memset(data, 0, static_cast<size_t>(bytes));
    });
    return OkStatus();
  }

  Result<std::unique_ptr<Event>> MakeEvent(bool timed) override {
    return std::unique_ptr<Event>(std::make_unique<HostEvent>(timed));
  }
  Status Record(Event& event) override {
    auto& own = static_cast<HostEvent&>(event);
    own.recorded = true;
    if (own.timed) own.time = Clock::now();
    return OkStatus();
  }
  Status Wait(Event&) override { return OkStatus(); }
  Status Synchronize() override { return CheckNoGraph(); }
  Result<double> SecondsBetween(Event& from, Event& to) override {
    const auto &a = static_cast<HostEvent&>(from), &b = static_cast<HostEvent&>(to);
    if (!a.timed || !b.timed || !a.recorded || !b.recorded) return Defect("an event without a time");
    return std::chrono::duration<double>(b.time - a.time).count();
  }

  Status Gemm(const GemmCall& call) override {
    if (graph_ == nullptr) return host::Gemm(call);
    Do([call] { static_cast<void>(host::Gemm(call)); });
    return OkStatus();
  }
  Result<bool> Conv(const ConvCall& call) override {
    if (graph_ == nullptr) return host::Conv(call);
    Do([call] { static_cast<void>(host::Conv(call)); });
    return host::HasConv(call);
  }
  Result<bool> Attention(const AttentionCall& call) override {
    if (graph_ == nullptr) return host::Attention(call);
    Do([call] { static_cast<void>(host::Attention(call)); });
    return host::HasAttention(call);
  }
  Result<bool> HasAttention(const AttentionCall& call) override { return host::HasAttention(call); }

  Status BeginGraph() override {
    graph_ = std::make_unique<HostGraph>();
    return OkStatus();
  }
  Result<std::unique_ptr<Graph>> EndGraph() override {
    if (graph_ == nullptr) return Defect("no graph was begun");
    return std::unique_ptr<Graph>(std::move(graph_));
  }
  Status Launch(Graph& graph) override {
    for (const std::function<void()>& call : static_cast<HostGraph&>(graph).calls) call();
    return OkStatus();
  }
  std::vector<std::function<void()>>* notes() override { return graph_ == nullptr ? nullptr : &graph_->calls; }

  Result<std::byte*> Scratch(int64_t bytes) override { return scratch_.Allocate(bytes); }
  void ResetScratch() override { scratch_.Reset(); }
  uint32_t* error_word() const override { return &error_word_; }
  void* native() const override { return nullptr; }

 private:
  template <typename F>
  void Do(const F& call) {
    if (graph_ == nullptr) {
      call();
    } else {
      graph_->calls.emplace_back(call);
    }
  }
  Status CheckNoGraph() const { return graph_ == nullptr ? OkStatus() : RunFailed("the host has no part in a graph"); }

  std::unique_ptr<HostGraph> graph_;  // that is being made
  ScratchBlocks scratch_;
  mutable uint32_t error_word_ = 0;
};

class HostDevice : public Device {
 public:
  explicit HostDevice(int ordinal) : ordinal_(ordinal) {}

  Result<DeviceInfo> Info() override {
    const int64_t page = sysconf(_SC_PAGESIZE);
    return DeviceInfo{"host", "host", page * sysconf(_SC_PHYS_PAGES), page * sysconf(_SC_AVPHYS_PAGES)};
  }
  Result<MemoryState> Memory() override {  // as if nobody else took any
    const int64_t total = sysconf(_SC_PAGESIZE) * static_cast<int64_t>(sysconf(_SC_PHYS_PAGES));
    return MemoryState{total, total - taken_->load()};
  }
  int ordinal() const override { return ordinal_; }
  Result<Buffer> Allocate(int64_t bytes) override {
    void* memory = nullptr;  // of no more bytes than asked for, so that a sanitizer sees who leaves them
    if (posix_memalign(&memory, ScratchBlocks::kAlignment, static_cast<size_t>(std::max<int64_t>(bytes, 1))) != 0)
      return RunFailed(StrCat("out of memory: ", bytes, " bytes were asked for"));
    taken_->fetch_add(bytes);
    return Buffer(static_cast<std::byte*>(memory), [taken = taken_, bytes](std::byte* p) {
      std::free(p);
      taken->fetch_sub(bytes);
    });
  }
  Result<Buffer> AllocatePinned(int64_t bytes) override { return Allocate(bytes); }
  Status Use() override { return OkStatus(); }
  Result<std::unique_ptr<Stream>> MakeStream() override {
    return std::unique_ptr<Stream>(std::make_unique<HostStream>(*this));
  }

 private:
  int ordinal_;
  const std::shared_ptr<std::atomic<int64_t>> taken_ = std::make_shared<std::atomic<int64_t>>(0);
};

}  // namespace

std::unique_ptr<Device> OpenHostDevice(int ordinal) { return std::make_unique<HostDevice>(ordinal); }

}  // namespace sbp::gpu
