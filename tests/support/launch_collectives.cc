#include "support/launch_collectives.h"

#include <cstring>
#include <numeric>

#include "kernel/gpu/gpu_kernels.h"
#include "runtime/processes/tcp/greeting.h"

namespace sbp {
namespace {

class LaunchCollectives : public gpu::Collectives {
 public:
  LaunchCollectives(std::shared_ptr<Launch> launch, std::vector<int> members)
      : launch_(std::move(launch)), members_(std::move(members)) {
    while (members_[static_cast<size_t>(rank_)] != launch_->rank()) ++rank_;
  }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(members_.size()); }

  Status AllReduce(const gpu::NativeReduction& how, const std::byte* source, std::byte* target, int64_t count,
                   gpu::Stream& stream) override {
    return Reduce(how, source, 0, count, count, target, stream);
  }
  Status ReduceScatter(const gpu::NativeReduction& how, const std::byte* source, std::byte* target, int64_t count,
                       gpu::Stream& stream) override {
    return Reduce(how, source, rank_ * count, count, count * size(), target, stream);
  }
  Status AllGather(const std::byte* source, std::byte* target, int64_t bytes, gpu::Stream&) override {
    SBP_ASSIGN_OR_RETURN(const std::vector<std::string> all, Share(Bytes(source, bytes)));
    for (const std::string& theirs : all) {
      if (static_cast<int64_t>(theirs.size()) != bytes) return Defect("ranks give different sizes");
      std::memcpy(target, theirs.data(), theirs.size());
      target += bytes;
    }
    return OkStatus();
  }
  Status Broadcast(int root, const std::byte* source, std::byte* target, int64_t bytes, gpu::Stream&) override {
    SBP_ASSIGN_OR_RETURN(const std::vector<std::string> all, Share(Bytes(source, bytes)));
    std::memcpy(target, all[static_cast<size_t>(root)].data(), static_cast<size_t>(bytes));
    return OkStatus();
  }
  Status Exchange(std::span<const gpu::Send> sends, std::span<const gpu::Receive> receives, gpu::Stream&) override {
    std::vector<std::string> mine;  // peer, bytes, peer, bytes, ...
    for (const gpu::Send& send : sends) {
      mine.push_back(std::to_string(send.peer));
      mine.push_back(Bytes(send.data, send.bytes));
    }
    SBP_ASSIGN_OR_RETURN(const std::vector<std::string> all, Share(PackStrings(mine)));
    std::vector<size_t> next(all.size(), 0);
    for (const gpu::Receive& receive : receives) {
      const std::vector<std::string> theirs = UnpackStrings(all[static_cast<size_t>(receive.peer)]);
      size_t& at = next[static_cast<size_t>(receive.peer)];
      while (at < theirs.size() && theirs[at] != std::to_string(rank_)) at += 2;
      if (at >= theirs.size() || static_cast<int64_t>(theirs[at + 1].size()) != receive.bytes)
        return Defect("what the ranks send and receive differs");
      std::memcpy(receive.data, theirs[at + 1].data(), theirs[at + 1].size());
      at += 2;
    }
    return OkStatus();
  }

  Result<std::shared_ptr<gpu::Collectives>> Split(int color) override {
    SBP_ASSIGN_OR_RETURN(const std::vector<std::string> colors, Share(std::to_string(color)));
    std::vector<int> members;
    for (size_t i = 0; i < colors.size(); ++i) {
      if (colors[i] == std::to_string(color)) members.push_back(members_[i]);
    }
    return std::shared_ptr<gpu::Collectives>(std::make_shared<LaunchCollectives>(launch_, members));
  }

  Status Poll() override { return OkStatus(); }
  void Abort() override {}  // who waits in the launch is told by it

 private:
  static std::string Bytes(const std::byte* data, int64_t bytes) {
    return {reinterpret_cast<const char*>(data), static_cast<size_t>(bytes)};
  }

  // What each member gives, by rank.
  Result<std::vector<std::string>> Share(const std::string& mine) {
    SBP_ASSIGN_OR_RETURN(const std::vector<std::string> all, launch_->AllGather(mine));
    std::vector<std::string> members;
    for (const int member : members_) members.push_back(all[static_cast<size_t>(member)]);
    return members;
  }

  // Of `whole` elements of each rank, those from `begin` on.
  Status Reduce(const gpu::NativeReduction& how, const std::byte* source, int64_t begin, int64_t count, int64_t whole,
                std::byte* target, gpu::Stream& stream) {
    const int64_t width = DTypeBits(how.dtype) / 8;
    SBP_ASSIGN_OR_RETURN(const std::vector<std::string> all, Share(Bytes(source, whole * width)));
    std::vector<const std::byte*> sources;
    for (const std::string& theirs : all) {
      if (static_cast<int64_t>(theirs.size()) != whole * width) return Defect("ranks give different sizes");
      sources.push_back(reinterpret_cast<const std::byte*>(theirs.data()) + begin * width);
    }
    return HostKernels().movement.combine(stream, how.dtype, how.kind, sources, target, count);
  }

  const std::shared_ptr<Launch> launch_;
  const std::vector<int> members_;
  int rank_ = 0;
};

}  // namespace

Result<std::shared_ptr<gpu::Collectives>> JoinByLaunch(std::shared_ptr<Launch> launch) {
  std::vector<int> everybody(static_cast<size_t>(launch->size()));
  std::iota(everybody.begin(), everybody.end(), 0);
  return std::shared_ptr<gpu::Collectives>(std::make_shared<LaunchCollectives>(std::move(launch), everybody));
}

}  // namespace sbp
