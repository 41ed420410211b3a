// Collectives between threads of this process. Every call is done when it returns: the ranks meet, each does its part
// of the work on the others' buffers, and they meet again.
#include "gpu/collectives.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "gpu/host/elements.h"
#include "gpu/host/host.h"
#include "sbp/sbp.h"

namespace sbp::gpu {
namespace {

constexpr std::chrono::seconds kPatience{60};

template <typename T>
T Apply(ReduceKind kind, T a, T b) {
  switch (kind) {
    case ReduceKind::kSum:
      return static_cast<T>(a + b);
    case ReduceKind::kProd:
      return static_cast<T>(a * b);
    case ReduceKind::kMax:
      return std::max(a, b);
    case ReduceKind::kMin:
      return std::min(a, b);
  }
  return a;
}

template <typename T>
void CombineAs(ReduceKind kind, const std::vector<const std::byte*>& sources, std::byte* target, int64_t begin,
               int64_t count) {
  for (int64_t i = begin; i < begin + count; ++i) {
    T value = reinterpret_cast<const T*>(sources[0])[i];
    for (size_t r = 1; r < sources.size(); ++r) value = Apply(kind, value, reinterpret_cast<const T*>(sources[r])[i]);
    reinterpret_cast<T*>(target)[i - begin] = value;
  }
}

// In the order of the ranks; 16-bit floats are rounded after each of them, as NCCL does.
void Combine(const NativeReduction& how, const std::vector<const std::byte*>& sources, std::byte* target, int64_t begin,
             int64_t count) {
  switch (how.dtype) {
    case DType::kF32:
      return CombineAs<float>(how.kind, sources, target, begin, count);
    case DType::kF64:
      return CombineAs<double>(how.kind, sources, target, begin, count);
    case DType::kI8:
      return CombineAs<int8_t>(how.kind, sources, target, begin, count);
    case DType::kU8:
      return CombineAs<uint8_t>(how.kind, sources, target, begin, count);
    case DType::kI32:  // sums wrap around
    case DType::kU32:
      if (how.dtype == DType::kU32 || how.kind == ReduceKind::kSum || how.kind == ReduceKind::kProd) {
        return CombineAs<uint32_t>(how.kind, sources, target, begin, count);
      }
      return CombineAs<int32_t>(how.kind, sources, target, begin, count);
    case DType::kI64:
    case DType::kU64:
      if (how.dtype == DType::kU64 || how.kind == ReduceKind::kSum || how.kind == ReduceKind::kProd) {
        return CombineAs<uint64_t>(how.kind, sources, target, begin, count);
      }
      return CombineAs<int64_t>(how.kind, sources, target, begin, count);
    default:
      std::vector<float> values = host::ReadElements<float>(how.dtype, sources[0] + 2 * begin, count);
      host::WriteElements(how.dtype, values, target);
      for (size_t r = 1; r < sources.size(); ++r) {
        const std::vector<float> next = host::ReadElements<float>(how.dtype, sources[r] + 2 * begin, count);
        for (size_t i = 0; i < values.size(); ++i) values[i] = Apply(how.kind, values[i], next[i]);
        host::WriteElements(how.dtype, values, target);
        values = host::ReadElements<float>(how.dtype, target, count);
      }
  }
}

}  // namespace

// What the ranks of a group share.
class HostGroup {
 public:
  explicit HostGroup(int size) : calls(static_cast<size_t>(size)), split(static_cast<size_t>(size)) {}

  // Returns when all ranks have come.
  Status Meet() {
    std::unique_lock lock(mutex_);
    if (aborted_) return Ended();
    if (++arrived_ == static_cast<int>(calls.size())) {
      arrived_ = 0;
      ++round_;
      met_.notify_all();
      return OkStatus();
    }
    const uint64_t round = round_;
    if (!met_.wait_for(lock, kPatience, [&] { return round_ != round || aborted_; })) {
      aborted_ = true;
      met_.notify_all();
    }
    return round_ != round ? OkStatus() : Ended();
  }
  void Abort() {
    const std::lock_guard lock(mutex_);
    aborted_ = true;
    met_.notify_all();
  }

  // One entry a rank, written before it meets the others and read until they meet again.
  struct Call {
    const std::byte* source = nullptr;
    int64_t count = 0;
    std::span<const Send> sends;
    int color = 0;
  };
  std::vector<Call> calls;
  std::vector<std::shared_ptr<HostGroup>> split;  // by rank of the first member

 private:
  static Status Ended() { return RunFailed("a collective was ended: a rank has failed or did not come"); }

  std::mutex mutex_;
  std::condition_variable met_;
  int arrived_ = 0;
  uint64_t round_ = 0;
  bool aborted_ = false;
};

namespace {

class HostCollectives : public Collectives {
 public:
  HostCollectives(std::shared_ptr<HostGroup> group, int rank) : group_(std::move(group)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(group_->calls.size()); }

  Status AllReduce(const NativeReduction& how, const std::byte* source, std::byte* target, int64_t count,
                   Stream&) override {
    SBP_ASSIGN_OR_RETURN(const std::vector<const std::byte*> sources, MeetWith(source, count));
    std::vector<std::byte> result(static_cast<size_t>(count * (DTypeBits(how.dtype) / 8)));
    Combine(how, sources, result.data(), 0, count);
    SBP_RETURN_IF_ERROR(group_->Meet());  // a target may be a source
    if (!result.empty()) std::memcpy(target, result.data(), result.size());
    return OkStatus();
  }

  Status ReduceScatter(const NativeReduction& how, const std::byte* source, std::byte* target, int64_t count,
                       Stream&) override {
    SBP_ASSIGN_OR_RETURN(const std::vector<const std::byte*> sources, MeetWith(source, count));
    Combine(how, sources, target, rank_ * count, count);
    return group_->Meet();
  }

  Status AllGather(const std::byte* source, std::byte* target, int64_t bytes, Stream&) override {
    SBP_ASSIGN_OR_RETURN(const std::vector<const std::byte*> sources, MeetWith(source, bytes));
    for (int r = 0; r < size(); ++r) Copy(sources[r], target + r * bytes, bytes);
    return group_->Meet();
  }

  Status Broadcast(int root, const std::byte* source, std::byte* target, int64_t bytes, Stream&) override {
    SBP_ASSIGN_OR_RETURN(const std::vector<const std::byte*> sources, MeetWith(source, bytes));
    Copy(sources[root], target, bytes);
    return group_->Meet();
  }

  Status Exchange(std::span<const Send> sends, std::span<const Receive> receives, Stream&) override {
    group_->calls[rank_].sends = sends;
    SBP_RETURN_IF_ERROR(group_->Meet());
    std::vector<size_t> next(static_cast<size_t>(size()), 0);  // per peer: the first of its sends not yet looked at
    for (const Receive& receive : receives) {
      const std::span<const Send> theirs = group_->calls[receive.peer].sends;
      size_t& at = next[receive.peer];
      while (at < theirs.size() && theirs[at].peer != rank_) ++at;
      if (at == theirs.size() || theirs[at].bytes != receive.bytes) return Mismatch();
      Copy(theirs[at++].data, receive.data, receive.bytes);
    }
    return group_->Meet();
  }

  Result<std::shared_ptr<Collectives>> Split(int color) override {
    group_->calls[rank_].color = color;
    SBP_RETURN_IF_ERROR(group_->Meet());
    int first = -1, rank = 0, members = 0;
    for (int r = 0; r < size(); ++r) {
      if (group_->calls[r].color != color) continue;
      if (first < 0) first = r;
      if (r == rank_) rank = members;
      ++members;
    }
    if (first == rank_) group_->split[rank_] = std::make_shared<HostGroup>(members);
    SBP_RETURN_IF_ERROR(group_->Meet());
    const std::shared_ptr<HostGroup> own = group_->split[first];
    SBP_RETURN_IF_ERROR(group_->Meet());
    if (first == rank_) group_->split[rank_].reset();
    return std::shared_ptr<Collectives>(std::make_shared<HostCollectives>(own, rank));
  }

  Status Poll() override { return OkStatus(); }
  void Abort() override { group_->Abort(); }

 private:
  static void Copy(const std::byte* from, std::byte* to, int64_t bytes) {
    if (bytes > 0 && from != to) std::memmove(to, from, static_cast<size_t>(bytes));
  }

  Status Mismatch() {
    group_->Abort();
    return Defect(StrCat("rank ", rank_, " of a group: what the ranks send and receive differs"));
  }

  // Publishes this rank's source and meets the others. Theirs, by rank.
  Result<std::vector<const std::byte*>> MeetWith(const std::byte* source, int64_t count) {
    group_->calls[rank_].source = source;
    group_->calls[rank_].count = count;
    SBP_RETURN_IF_ERROR(group_->Meet());
    std::vector<const std::byte*> sources;
    for (const HostGroup::Call& call : group_->calls) {
      if (call.count != count) return Mismatch();
      sources.push_back(call.source);
    }
    return sources;
  }

  const std::shared_ptr<HostGroup> group_;
  const int rank_;
};

}  // namespace

struct HostGroups::State {
  std::mutex mutex;
  int ids = 0;
  std::map<std::string, std::shared_ptr<HostGroup>> groups;
};

HostGroups::HostGroups() : state_(std::make_unique<State>()) {}
HostGroups::~HostGroups() = default;

std::string HostGroups::MakeId() {
  const std::lock_guard lock(state_->mutex);
  return StrCat("group ", state_->ids++);
}

Result<std::shared_ptr<Collectives>> HostGroups::Join(const std::string& id, int rank, int size) {
  std::shared_ptr<HostGroup> group;
  {
    const std::lock_guard lock(state_->mutex);
    std::shared_ptr<HostGroup>& known = state_->groups[id];
    if (known == nullptr) known = std::make_shared<HostGroup>(size);
    group = known;
  }
  SBP_RETURN_IF_ERROR(group->Meet());
  return std::shared_ptr<Collectives>(std::make_shared<HostCollectives>(group, rank));
}

}  // namespace sbp::gpu
