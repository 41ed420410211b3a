#include "runtime/backends/threads/thread_communicator.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>

#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "kernel/view.h"
#include "runtime/backends/threads/rendezvous.h"
#include "runtime/backends/threads/stream_copy.h"
#include "runtime/data/box.h"
#include "runtime/data/reduce.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// What the ranks of a group see of each other. A rank writes its entry before it arrives at the rendezvous; the others
// read it until the next one.
class ThreadGroup {
 public:
  ThreadGroup(const std::vector<int64_t>& devices, const CommunicatorOptions& options,
              std::shared_ptr<FirstFailure> failure)
      : meeting_(devices, options.timeout, std::move(failure)), buffers_(devices.size()) {}

  struct Buffers {
    const std::byte* source = nullptr;
    std::byte* target = nullptr;
  };

  int size() const { return static_cast<int>(buffers_.size()); }
  Buffers& of(int rank) { return buffers_[static_cast<size_t>(rank)]; }
  Status Meet(int rank) { return meeting_.Arrive(rank); }
  FirstFailure& failure() { return meeting_.failure(); }

 private:
  Rendezvous meeting_;
  std::vector<Buffers> buffers_;
};

class ThreadCommunicator : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<ThreadGroup> group, int rank) : group_(std::move(group)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return group_->size(); }
  Status Barrier() override { return group_->Meet(rank_); }
  void Abort(const Status& failure) override { static_cast<void>(group_->failure().Set(failure)); }
  Status status() override { return group_->failure().status(); }

  Status Exchange(const TensorView& source, const TensorView& target, const std::vector<Box>& from,
                  const std::vector<Box>& to) override {
    const Box& wanted = to[rank_];
    const std::vector<Piece> pieces = PiecesFor(rank_, wanted, from);
    int64_t found = 0;
    for (const Piece& piece : pieces) found += Elements(piece.box);
    if (found != Elements(wanted)) {
      Abort(Defect(StrCat("rank ", rank_, " of a group wants ", ToString(wanted), ", part of which nobody holds")));
    }
    SBP_RETURN_IF_ERROR(Publish(source, target));
    for (const Piece& piece : pieces) {
      CopyBox(source.dtype, piece.box, group_->of(piece.source).source, from[piece.source], target.data, wanted);
    }
    return group_->Meet(rank_);  // until then the others read `source`
  }

  // Each rank combines its share of the elements and writes the result to all targets: every buffer is read once and
  // written once, no rank reads a target.
  Status AllReduce(ReduceKind kind, const TensorView& source, const TensorView& target) override {
    SBP_RETURN_IF_ERROR(CanReduceOrAbort(source.dtype, kind));
    SBP_RETURN_IF_ERROR(Publish(source, target));
    const int64_t width = DTypeBits(source.dtype) / 8;
    const Range share = BalancedPart({0, source.elements()}, size(), rank_);
    const auto copy = source.bytes() * size() > kCached
                          ? StreamCopy
                          : [](std::byte* to, const std::byte* from, size_t bytes) { std::memcpy(to, from, bytes); };
    std::vector<const std::byte*> sources(static_cast<size_t>(size()));
    alignas(64) std::array<std::byte, kBlock> block;
    for (int64_t begin = share.begin; begin < share.end; begin += kBlock / width) {
      const int64_t count = std::min(kBlock / width, share.end - begin);
      for (int r = 0; r < size(); ++r) sources[r] = group_->of(r).source + begin * width;
      ReduceElements(source.dtype, kind, sources, block.data(), count);
      for (int r = 0; r < size(); ++r) {
        copy(group_->of(r).target + begin * width, block.data(), static_cast<size_t>(count * width));
      }
    }
    StreamFence();
    return group_->Meet(rank_);
  }

  Status ReduceScatter(ReduceKind kind, const TensorView& source, const TensorView& target,
                       const std::vector<Box>& to) override {
    SBP_RETURN_IF_ERROR(CanReduceOrAbort(source.dtype, kind));
    SBP_RETURN_IF_ERROR(Publish(source, target));
    ReducePart(kind, source, target, to[rank_]);
    return group_->Meet(rank_);
  }

 private:
  static constexpr int64_t kBlock = 16384;     // bytes: half of a usual first-level cache
  static constexpr int64_t kCached = 4 << 20;  // bytes of all targets that may find room in caches
  static constexpr int64_t kShortRun = 4096;   // bytes

  Status CanReduceOrAbort(DType dtype, ReduceKind kind) {
    Status can = CanReduce(dtype, kind);
    if (!can.ok()) Abort(can);
    return can;
  }

  Status Publish(const TensorView& source, const TensorView& target) {
    group_->of(rank_) = {source.data, target.data};
    return group_->Meet(rank_);
  }

  // The sum of the ranks' `part` into `target`, which holds it. Its runs follow each other there; short ones are
  // gathered first, since beginning a sum costs more than so few elements.
  void ReducePart(ReduceKind kind, const TensorView& source, const TensorView& target, const Box& part) {
    const int64_t width = DTypeBits(source.dtype) / 8;
    std::vector<const std::byte*> sources(static_cast<size_t>(size()));
    std::vector<std::byte> gathered;
    std::byte* done = target.data;
    int64_t waiting = 0;  // bytes that each rank's block holds
    const auto reduce = [&](int64_t bytes) {
      ReduceElements(source.dtype, kind, sources, done, bytes / width);
      done += bytes;
    };
    EachRun(part, source.ranges, part, [&](const ElementRun& run) {
      const int64_t from = run.a * width, bytes = run.count * width;
      if (bytes >= kShortRun) {  // so are all others
        for (int r = 0; r < size(); ++r) sources[r] = group_->of(r).source + from;
        return reduce(bytes);
      }
      if (gathered.empty()) gathered.resize(static_cast<size_t>(kBlock * size()));
      for (int r = 0; r < size(); ++r) {
        std::byte* block = gathered.data() + r * kBlock;
        std::memcpy(block + waiting, group_->of(r).source + from, static_cast<size_t>(bytes));
        sources[r] = block;
      }
      waiting += bytes;
      if (waiting + bytes <= kBlock) return;
      reduce(waiting);
      waiting = 0;
    });
    reduce(waiting);
  }

  const std::shared_ptr<ThreadGroup> group_;
  const int rank_;
};

}  // namespace

std::vector<DeviceCommunicators> MakeThreadCommunicators(const Mesh& mesh, const CommunicatorOptions& options,
                                                         const std::shared_ptr<FirstFailure>& failure) {
  const int64_t devices = mesh.num_devices();
  std::vector<DeviceCommunicators> result(static_cast<size_t>(devices));
  for (int axis = 0; axis < mesh.num_axes(); ++axis) {
    for (const std::vector<int64_t>& positions : mesh.Groups(axis)) {
      const auto group = std::make_shared<ThreadGroup>(positions, options, failure);
      for (size_t r = 0; r < positions.size(); ++r) {
        result[positions[r]].axes.push_back(std::make_unique<ThreadCommunicator>(group, static_cast<int>(r)));
      }
    }
  }
  std::vector<int64_t> positions(static_cast<size_t>(devices));
  std::iota(positions.begin(), positions.end(), 0);
  const auto everybody = std::make_shared<ThreadGroup>(positions, options, failure);
  for (int64_t p = 0; p < devices; ++p) {
    result[p].all = std::make_unique<ThreadCommunicator>(everybody, static_cast<int>(p));
  }
  return result;
}

}  // namespace sbp
