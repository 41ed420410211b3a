// A communicator over MPI: messages between pairs of ranks, combined here, so that results do not depend on which
// algorithm an MPI library prefers.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "kernel/view.h"
#include "runtime/backends/mpi/world.h"
#include "runtime/data/box.h"
#include "runtime/exchange/communicator.h"
#include "sbp/sbp.h"

namespace sbp {

class MpiCommunicator : public Communicator {
 public:
  // `group` belongs to this object; `members` are its ranks in the world.
  MpiCommunicator(std::shared_ptr<World> world, MPI_Comm group, std::vector<int> members,
                  const CommunicatorOptions& options);

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(members_.size()); }
  Status Exchange(const TensorView& source, const TensorView& target, const std::vector<Box>& from,
                  const std::vector<Box>& to) override;
  Status AllReduce(ReduceKind kind, const TensorView& source, const TensorView& target) override;
  Status ReduceScatter(ReduceKind kind, const TensorView& source, const TensorView& target,
                       const std::vector<Box>& to) override;
  Status Barrier() override;
  void Abort(const Status& failure) override { world_->Abort(failure); }
  Status status() override { return world_->status(); }
  Status failure_elsewhere() override { return world_->failure_elsewhere(); }

 private:
  // The requests of one exchange, with the ranks of the world that they wait for.
  struct Pending {
    std::vector<MPI_Request> requests;
    std::vector<int> peers;
  };
  // What goes to or comes from one rank: one run of a tensor, or pieces that are packed.
  struct Message {
    std::vector<Piece> pieces;
    int64_t bytes = 0;
    std::optional<int64_t> at;  // the byte of the tensor's buffer where the run begins
  };
  static Message MessageOf(std::vector<Piece> pieces, const TensorView& view);
  Status Send(int to, const std::byte* data, int64_t bytes, Pending& pending);
  Status Receive(int from, std::byte* data, int64_t bytes, Pending& pending);
  Status Wait(Pending& pending);
  Status CanReduceOrAbort(DType dtype, ReduceKind kind);

  const std::shared_ptr<World> world_;
  const MPI_Comm group_;
  const std::vector<int> members_;
  const std::chrono::milliseconds timeout_;
  int rank_ = 0;
  // Of messages that are packed, and of what is combined. The largest so far is kept: fresh memory costs its pages.
  std::unique_ptr<std::byte[]> buffer_;
  int64_t buffer_bytes_ = 0;
  std::byte* Reserve(int64_t bytes);
};

}  // namespace sbp
