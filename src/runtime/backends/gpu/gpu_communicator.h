// A communicator on the streams of GPUs: calls return when their work is in the stream, and what they do happens in the
// order of the stream. A handle belongs to one stream of one device.
//
// Even parts that lie as NCCL lays them go straight to its collectives; what is uneven, or cut otherwise, is packed on
// the device and sent in one group of messages; what NCCL cannot combine (gpu::NativeReductionFor) is gathered and
// combined on the device in the order of the ranks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "gpu/collectives.h"
#include "kernel/view.h"
#include "runtime/backends/gpu/gpu_device.h"
#include "runtime/data/box.h"
#include "runtime/exchange/communicator.h"
#include "sbp/sbp.h"

namespace sbp {

class GpuCommunicator : public Communicator {
 public:
  // `collectives` is null for a group of one. The device outlives the handle.
  GpuCommunicator(std::shared_ptr<gpu::Collectives> collectives, GpuDevice& device, gpu::Stream& stream)
      : collectives_(std::move(collectives)), device_(device), stream_(stream) {}

  int rank() const override { return collectives_ != nullptr ? collectives_->rank() : 0; }
  int size() const override { return collectives_ != nullptr ? collectives_->size() : 1; }
  Status Exchange(const TensorView& source, const TensorView& target, const std::vector<Box>& from,
                  const std::vector<Box>& to) override;
  Status AllReduce(ReduceKind kind, const TensorView& source, const TensorView& target) override;
  Status ReduceScatter(ReduceKind kind, const TensorView& source, const TensorView& target,
                       const std::vector<Box>& to) override;
  // A tiny collective, and a byte from and to every other rank: what a library connects or loads at the first use is
  // ready afterwards. Called by all ranks of the group; waits for the stream.
  Status Warm();
  // Waits for the stream, too.
  Status Barrier() override;
  void Abort(const Status& failure) override { device_.news->Abort(failure); }
  Status status() override { return device_.news->status(); }
  Status failure_elsewhere() override { return device_.news->failure_elsewhere(); }

 private:
  // How this rank takes part in one exchange: found once for each pair of lists of boxes.
  struct Part {
    int peer = 0;
    Box box;
    bool direct = false;  // the piece lies in one run of whole bytes, at this offset in bytes
    int64_t offset = 0, bytes = 0;
  };
  struct Route {
    Status problem;
    // Every rank gets all of the parts, which are even: `concatenated`: they lie one after the other in it.
    bool gathers = false, concatenated = false;
    int64_t part_bytes = 0;
    std::vector<Part> sends, receives;
    std::vector<Box> own;  // pieces from this rank to itself
  };
  using RouteKey = std::vector<int64_t>;
  const Route& RouteFor(DType dtype, const std::vector<Box>& from, const std::vector<Box>& to);
  Route MakeRoute(DType dtype, const std::vector<Box>& from, const std::vector<Box>& to) const;
  Part PartOf(DType dtype, int peer, const Box& piece, const Box& buffer) const;
  Status Gather(const Route& route, const TensorView& source, const TensorView& target, const std::vector<Box>& from);
  Status SendAndReceive(const Route& route, const TensorView& source, const TensorView& target);

  Status CombineGathered(ReduceKind kind, const TensorView& source, const TensorView& target);
  Status ScatterEvenly(const gpu::NativeReduction& how, const TensorView& source, const TensorView& target,
                       const std::vector<Box>& to);
  Status ScatterPieces(ReduceKind kind, const TensorView& source, const TensorView& target, const std::vector<Box>& to);

  Status Begin();
  Status Checked(const Status& status);  // of a collective: what is behind it
  Status CanReduceOrAbort(DType dtype, ReduceKind kind);
  Status CopyBox(DType dtype, const Box& part, const std::byte* source, const Box& source_box, std::byte* target,
                 const Box& target_box);

  const std::shared_ptr<gpu::Collectives> collectives_;
  GpuDevice& device_;
  gpu::Stream& stream_;
  std::map<RouteKey, Route> routes_;
};

}  // namespace sbp
