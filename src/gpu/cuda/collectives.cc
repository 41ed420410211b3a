// Collectives of NCCL, with communicators that block: a call returns when its work is in the stream.
#include "gpu/collectives.h"

#include <cuda_runtime.h>
#include <nccl.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "gpu/gpu.h"
#include "sbp/sbp.h"

namespace sbp::gpu {
namespace {

Status NcclStatus(ncclResult_t result, std::string_view call, ncclComm_t comm = nullptr) {
  if (result == ncclSuccess) return OkStatus();
  const char* detail = ncclGetLastError(comm);
  const std::string why = detail != nullptr && *detail != 0 ? StrCat(" (", detail, ")") : "";
  return RunFailed(StrCat(call, ": ", ncclGetErrorString(result), why));
}

// Requires a type of NativeReductionFor.
ncclDataType_t TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return ncclFloat16;
    case DType::kBF16:
      return ncclBfloat16;
    case DType::kF64:
      return ncclFloat64;
    case DType::kI8:
      return ncclInt8;
    case DType::kU8:
      return ncclUint8;
    case DType::kI32:
      return ncclInt32;
    case DType::kU32:
      return ncclUint32;
    case DType::kI64:
      return ncclInt64;
    case DType::kU64:
      return ncclUint64;
    default:
      return ncclFloat32;
  }
}

ncclRedOp_t OpOf(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kSum:
      return ncclSum;
    case ReduceKind::kProd:
      return ncclProd;
    case ReduceKind::kMax:
      return ncclMax;
    case ReduceKind::kMin:
      return ncclMin;
  }
  return ncclSum;
}

cudaStream_t NativeOf(const Stream& stream) { return static_cast<cudaStream_t>(stream.native()); }
size_t SizeOf(int64_t count) { return static_cast<size_t>(count); }

class NcclCollectives : public Collectives {
 public:
  NcclCollectives(ncclComm_t comm, int rank, int size) : comm_(comm), rank_(rank), size_(size) {}
  ~NcclCollectives() override {
    if (comm_ != nullptr) ncclCommDestroy(comm_);
  }
  NcclCollectives(const NcclCollectives&) = delete;
  NcclCollectives& operator=(const NcclCollectives&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Status AllReduce(const NativeReduction& how, const std::byte* source, std::byte* target, int64_t count,
                   Stream& stream) override {
    return Call("ncclAllReduce", [&](ncclComm_t comm) {
      return ncclAllReduce(source, target, SizeOf(count), TypeOf(how.dtype), OpOf(how.kind), comm, NativeOf(stream));
    });
  }

  Status ReduceScatter(const NativeReduction& how, const std::byte* source, std::byte* target, int64_t count,
                       Stream& stream) override {
    return Call("ncclReduceScatter", [&](ncclComm_t comm) {
      return ncclReduceScatter(source, target, SizeOf(count), TypeOf(how.dtype), OpOf(how.kind), comm,
                               NativeOf(stream));
    });
  }

  Status AllGather(const std::byte* source, std::byte* target, int64_t bytes, Stream& stream) override {
    return Call("ncclAllGather", [&](ncclComm_t comm) {
      return ncclAllGather(source, target, SizeOf(bytes), ncclInt8, comm, NativeOf(stream));
    });
  }

  Status Broadcast(int root, const std::byte* source, std::byte* target, int64_t bytes, Stream& stream) override {
    return Call("ncclBroadcast", [&](ncclComm_t comm) {
      return ncclBroadcast(source, target, SizeOf(bytes), ncclInt8, root, comm, NativeOf(stream));
    });
  }

  Status Exchange(std::span<const Send> sends, std::span<const Receive> receives, Stream& stream) override {
    if (sends.empty() && receives.empty()) return OkStatus();
    return Call("ncclSend and ncclRecv", [&](ncclComm_t comm) {
      ncclResult_t result = ncclGroupStart();
      if (result != ncclSuccess) return result;
      for (const Send& send : sends) {
        if (result != ncclSuccess) break;
        result = ncclSend(send.data, SizeOf(send.bytes), ncclInt8, send.peer, comm, NativeOf(stream));
      }
      for (const Receive& receive : receives) {
        if (result != ncclSuccess) break;
        result = ncclRecv(receive.data, SizeOf(receive.bytes), ncclInt8, receive.peer, comm, NativeOf(stream));
      }
      const ncclResult_t end = ncclGroupEnd();  // also after a failure: else the thread stays within the group
      return result != ncclSuccess ? result : end;
    });
  }

  Result<std::shared_ptr<Collectives>> Split(int color) override {
    ncclComm_t part = nullptr;
    // Channels and buffers are those of the whole group: all groups of a device are used in one stream, one after the
    // other.
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.splitShare = 1;
    SBP_RETURN_IF_ERROR(
        Call("ncclCommSplit", [&](ncclComm_t comm) { return ncclCommSplit(comm, color, rank_, &part, &config); }));
    int rank = 0, size = 0;
    SBP_RETURN_IF_ERROR(NcclStatus(ncclCommUserRank(part, &rank), "ncclCommUserRank", part));
    SBP_RETURN_IF_ERROR(NcclStatus(ncclCommCount(part, &size), "ncclCommCount", part));
    return std::shared_ptr<Collectives>(std::make_shared<NcclCollectives>(part, rank, size));
  }

  Status Poll() override {
    const std::lock_guard lock(mutex_);
    if (comm_ == nullptr) return OkStatus();
    ncclResult_t found = ncclSuccess;
    SBP_RETURN_IF_ERROR(NcclStatus(ncclCommGetAsyncError(comm_, &found), "ncclCommGetAsyncError", comm_));
    return found == ncclInProgress ? OkStatus() : NcclStatus(found, "NCCL", comm_);
  }

  // Kernels that wait for a peer end only by ncclCommAbort, which frees the communicator: nobody may be within a call.
  // A thread that does not come out of one (the stream is full, since it waits for a peer) is what it is for.
  void Abort() override {
    constexpr std::chrono::milliseconds kNap{1};
    constexpr int kNaps = 200;
    std::unique_lock lock(mutex_);
    const ncclComm_t comm = std::exchange(comm_, nullptr);
    if (comm == nullptr) return;
    for (int i = 0; i < kNaps && inside_ > 0; ++i) {
      lock.unlock();
      std::this_thread::sleep_for(kNap);
      lock.lock();
    }
    lock.unlock();
    ncclCommAbort(comm);
  }

 private:
  template <typename F>
  Status Call(std::string_view name, const F& call) {
    ncclComm_t comm = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (comm_ == nullptr) return RunFailed(StrCat(name, ": the run has failed"));
      comm = comm_;
      ++inside_;
    }
    const ncclResult_t result = call(comm);
    const std::lock_guard lock(mutex_);
    --inside_;
    return NcclStatus(result, name, comm_);
  }

  std::mutex mutex_;
  ncclComm_t comm_;  // under mutex_; null after Abort
  int inside_ = 0;   // calls under way; under mutex_
  const int rank_, size_;
};

}  // namespace

Result<std::string> MakeCudaGroupId() {
  ncclUniqueId id;
  SBP_RETURN_IF_ERROR(NcclStatus(ncclGetUniqueId(&id), "ncclGetUniqueId"));
  return std::string(id.internal, sizeof id.internal);
}

std::string CudaCollectivesVersion() {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess) return "NCCL";
  return StrCat("NCCL ", version / 10000, ".", version / 100 % 100, ".", version % 100);
}

Result<std::shared_ptr<Collectives>> JoinCudaGroup(Device& device, const std::string& id, int rank, int size) {
  ncclUniqueId unique;
  if (id.size() != sizeof unique.internal) return Defect("an NCCL id of another size");
  std::memcpy(unique.internal, id.data(), id.size());
  SBP_RETURN_IF_ERROR(device.Use());
  ncclComm_t comm = nullptr;
  SBP_RETURN_IF_ERROR(NcclStatus(ncclCommInitRank(&comm, size, unique, rank), "ncclCommInitRank"));
  return std::shared_ptr<Collectives>(std::make_shared<NcclCollectives>(comm, rank, size));
}

}  // namespace sbp::gpu
