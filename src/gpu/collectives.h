// Collectives: one rank's handle on one group of devices: NCCL's communicator (cuda/), or threads that meet (host/).
//
// The collectives of a group are called by all its ranks in the same order with the same sizes; a handle is used by one
// thread at a time, but for Poll and Abort, which any thread may call. They go to the stream and return at once;
// buffers lie on the rank's device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/dtype.h"
#include "base/status.h"
#include "gpu/gpu.h"
#include "sbp/sbp.h"

namespace sbp::gpu {

// A reduction that the collectives do themselves, which may stand for another one: "or" of bools is the maximum of
// bytes, a complex sum that of twice as many reals.
struct NativeReduction {
  DType dtype = DType::kF32;
  ReduceKind kind = ReduceKind::kSum;
  int64_t per_element = 1;
};
// Nothing: NCCL does not have it (16-bit integers, products of complex numbers), or it is not what we mean: its maximum
// and minimum of floats lose NaN, ours hand it on.
std::optional<NativeReduction> NativeReductionFor(DType dtype, ReduceKind kind);

struct Send {
  int peer = 0;
  const std::byte* data = nullptr;
  int64_t bytes = 0;
};
struct Receive {
  int peer = 0;
  std::byte* data = nullptr;
  int64_t bytes = 0;
};

class Collectives {
 public:
  virtual ~Collectives() = default;  // ends what is under way if the group has failed, else waits for it

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // `count` elements of the reduction's type on each rank; `target` may be `source`.
  virtual Status AllReduce(const NativeReduction& how, const std::byte* source, std::byte* target, int64_t count,
                           Stream& stream) = 0;
  // Rank r gets elements [r * count, (r + 1) * count) of the result; `source` holds size() * count.
  virtual Status ReduceScatter(const NativeReduction& how, const std::byte* source, std::byte* target, int64_t count,
                               Stream& stream) = 0;
  // Every rank gives `bytes` and gets those of all, by rank.
  virtual Status AllGather(const std::byte* source, std::byte* target, int64_t bytes, Stream& stream) = 0;
  virtual Status Broadcast(int root, const std::byte* source, std::byte* target, int64_t bytes, Stream& stream) = 0;
  // All at once. What one rank sends to another is received in the order of the lists; nothing goes to oneself, and
  // nothing is empty.
  virtual Status Exchange(std::span<const Send> sends, std::span<const Receive> receives, Stream& stream) = 0;

  // The ranks with one color, in their order, as a group of its own. Called by all.
  virtual Result<std::shared_ptr<Collectives>> Split(int color) = 0;

  // A failure that was found since the calls returned: a peer that is gone.
  virtual Status Poll() = 0;
  // Ends what is under way, with garbage for results; later calls fail.
  virtual void Abort() = 0;
};

// Joins a group. `id` is what MakeCudaGroupId gave one of them; called by all at once, each on its own thread or in its
// own process.
Result<std::string> MakeCudaGroupId();
// "NCCL 2.28.3"; "": not in this build.
std::string CudaCollectivesVersion();
Result<std::shared_ptr<Collectives>> JoinCudaGroup(Device& device, const std::string& id, int rank, int size);

}  // namespace sbp::gpu
