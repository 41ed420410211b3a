// Communicator: one rank's handle on one group of ranks, through which they move tensors. One implementation a folder:
// threads/ (shared memory) and mpi/.
//
// Collectives of a group are called by all its ranks in the same order, with the same boxes and types; a handle is used
// by one thread at a time, different handles at once. Sizes and boxes may be uneven and empty. Results depend on the
// values and the order of the ranks alone, never on timing. After a failure every call on every rank returns the error
// of the rank that failed, soon (within a second). Other ranks may still look at a buffer when a call has failed:
// buffers stay until all ranks have returned.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "kernel/view.h"
#include "runtime/data/box.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;  // within the group
  virtual int size() const = 0;

  // Redistribution by overlap: rank r holds the box from[r] and fills the box to[r]; `source` and `target` are this
  // rank's buffers of those boxes, which must not overlap. What several ranks hold, a rank takes from itself, else from
  // the next one that has it. Moves any element type. Error (kDefect) when nobody holds what a rank wants.
  virtual Status Exchange(const TensorView& source, const TensorView& target, const std::vector<Box>& from,
                          const std::vector<Box>& to) = 0;

  // Combines the ranks' `source`s, all of one box, in the order of the ranks; every rank gets all of it. `target` may
  // be `source`.
  virtual Status AllReduce(ReduceKind kind, const TensorView& source, const TensorView& target) = 0;

  // The same, and rank r gets the box to[r] of the result. `target` may not overlap `source`.
  virtual Status ReduceScatter(ReduceKind kind, const TensorView& source, const TensorView& target,
                               const std::vector<Box>& to) = 0;

  // Returns when all ranks of the group have called it.
  virtual Status Barrier() = 0;

  // The run has failed, on all ranks and groups: their calls return `failure` from now on. The first one wins.
  virtual void Abort(const Status& failure) = 0;
  // Has it?
  virtual Status status() = 0;
  // The failure that another process told this one; none where all devices are in this one.
  virtual Status failure_elsewhere() { return OkStatus(); }

  // Rank r holds parts[r]; every rank gets all of them: the box of `target`.
  Status AllGather(const TensorView& source, const TensorView& target, const std::vector<Box>& parts);
  // Every rank sends each other one a piece of its part.
  Status AllToAll(const TensorView& source, const TensorView& target, const std::vector<Box>& from,
                  const std::vector<Box>& to);
  // The bytes of every rank, by rank.
  Result<std::vector<std::string>> AllGatherBytes(std::string_view mine);
  // The same, for rank 0 alone; the others get nothing.
  Result<std::vector<std::string>> GatherBytes(std::string_view mine);

 private:
  Result<std::vector<Range>> PlacesOf(std::string_view mine);
};

struct CommunicatorOptions {
  // How long a rank waits for others within one call before it gives up: a rank that has died or lags must not hang
  // the run. Longer than any one task takes.
  std::chrono::milliseconds timeout{300'000};
};

// The handles of one device of a mesh, for its communication stream: all that meets other devices runs there, in one
// order on all of them.
struct DeviceCommunicators {
  std::vector<std::unique_ptr<Communicator>> axes;  // per mesh axis: its group along that axis
  std::unique_ptr<Communicator> all;                // all devices, in the order of positions
};

// Of each device that runs in this process, in the order of their positions.
using MeshCommunicators = std::vector<DeviceCommunicators>;

}  // namespace sbp
