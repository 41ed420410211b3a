#include "gpu/cuda/stream.h"

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "base/dtype.h"
#include "base/status.h"
#include "gpu/cuda/attention.h"
#include "gpu/cuda/conv.h"
#include "gpu/cuda/dnn.h"
#include "gpu/cuda/errors.h"
#include "gpu/cuda/gemm.h"
#include "gpu/scratch_blocks.h"

namespace sbp::gpu::cuda {
namespace {

class CudaEvent : public Event {
 public:
  CudaEvent(cudaEvent_t event, int ordinal) : event_(event), ordinal_(ordinal) {}
  ~CudaEvent() override {
    static_cast<void>(cudaSetDevice(ordinal_));
    static_cast<void>(cudaEventDestroy(event_));
  }
  Result<bool> IsDone() override {
    const cudaError_t state = cudaEventQuery(event_);
    if (state == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());  // not a failure: it must not be found by the next launch
      return false;
    }
    SBP_RETURN_IF_ERROR(Checked(state, "a device's work"));
    return true;
  }
  cudaEvent_t event() const { return event_; }

 private:
  cudaEvent_t event_;
  int ordinal_;
};

class CudaGraph : public Graph {
 public:
  CudaGraph(cudaGraphExec_t graph, int ordinal) : graph_(graph), ordinal_(ordinal) {}
  ~CudaGraph() override {
    static_cast<void>(cudaSetDevice(ordinal_));
    static_cast<void>(cudaGraphExecDestroy(graph_));
  }
  cudaGraphExec_t graph() const { return graph_; }

 private:
  cudaGraphExec_t graph_;
  int ordinal_;
};

// Pinned memory from which small uploads are made, so that the host does not wait for what the stream has to do before
// them. Used around; at its end the stream is waited for once.
constexpr int64_t kStaging = int64_t{1} << 20, kStagingAlignment = 64;

class CudaStream : public Stream {
 public:
  explicit CudaStream(Device& device) : device_(device), scratch_(device), gemm_(device), dnn_(device) {}
  ~CudaStream() override {
    static_cast<void>(device_.Use());
    if (stream_ != nullptr) static_cast<void>(cudaStreamSynchronize(stream_));
  }

  Status Open() {
    SBP_RETURN_IF_ERROR(device_.Use());
    SBP_RETURN_IF_ERROR(Checked(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate"));
    owner_.reset(stream_);
    SBP_ASSIGN_OR_RETURN(error_word_, device_.Allocate(ScratchBlocks::kAlignment));
    SBP_RETURN_IF_ERROR(Zero(error_word_.get(), ScratchBlocks::kAlignment));
    return Synchronize();
  }

  Status Upload(const std::byte* host, std::byte* device, int64_t bytes) override {
    SBP_RETURN_IF_ERROR(CheckNoGraph());
    return Move(device, host, bytes, cudaMemcpyHostToDevice);
  }
  Status UploadNow(const std::byte* host, std::byte* device, int64_t bytes) override {
    // From memory that is not pinned, CUDA has read all bytes when it returns.
    if (bytes <= 0 || bytes > kStaging / 2) return Upload(host, device, bytes);
    SBP_RETURN_IF_ERROR(CheckNoGraph());
    if (staging_ == nullptr) {
      SBP_ASSIGN_OR_RETURN(staging_, device_.AllocatePinned(kStaging));
    }
    if (staged_ + bytes > kStaging) {
      SBP_RETURN_IF_ERROR(Synchronize());
      staged_ = 0;
    }
    std::byte* copy = staging_.get() + staged_;
    std::memcpy(copy, host, static_cast<size_t>(bytes));
    staged_ += (bytes + kStagingAlignment - 1) / kStagingAlignment * kStagingAlignment;
    return Upload(copy, device, bytes);
  }
  Status Download(const std::byte* device, std::byte* host, int64_t bytes) override {
    SBP_RETURN_IF_ERROR(CheckNoGraph());
    return Move(host, device, bytes, cudaMemcpyDeviceToHost);
  }
  Status Copy(const std::byte* from, std::byte* to, int64_t bytes) override {
    return from == to ? OkStatus() : Move(to, from, bytes, cudaMemcpyDeviceToDevice);
  }
  Status Zero(std::byte* data, int64_t bytes) override {
    if (bytes <= 0) return OkStatus();
    return Checked(cudaMemsetAsync(data, 0, static_cast<size_t>(bytes), stream_), "cudaMemsetAsync");
  }

  Result<std::unique_ptr<Event>> MakeEvent(bool timed) override {
    cudaEvent_t event = nullptr;
    SBP_RETURN_IF_ERROR(Checked(cudaEventCreateWithFlags(&event, timed ? cudaEventDefault : cudaEventDisableTiming),
                                "cudaEventCreate"));
    return std::unique_ptr<Event>(std::make_unique<CudaEvent>(event, device_.ordinal()));
  }
  Status Record(Event& event) override {
    return Checked(cudaEventRecord(static_cast<CudaEvent&>(event).event(), stream_), "cudaEventRecord");
  }
  Status Wait(Event& event) override {
    return Checked(cudaStreamWaitEvent(stream_, static_cast<CudaEvent&>(event).event(), 0), "cudaStreamWaitEvent");
  }
  Status Synchronize() override {
    SBP_RETURN_IF_ERROR(CheckNoGraph());
    return Checked(cudaStreamSynchronize(stream_), "a device's work");
  }
  Result<double> SecondsBetween(Event& from, Event& to) override {
    float milliseconds = 0;
    SBP_RETURN_IF_ERROR(Checked(
        cudaEventElapsedTime(&milliseconds, static_cast<CudaEvent&>(from).event(), static_cast<CudaEvent&>(to).event()),
        "cudaEventElapsedTime"));
    return milliseconds * 1e-3;
  }

  Status Gemm(const GemmCall& call) override {
    if (call.batch == 0 || call.m == 0 || call.n == 0) return OkStatus();
    if (call.dtype != DType::kF32 && call.dtype != DType::kF64 && call.dtype != DType::kF16 &&
        call.dtype != DType::kBF16)
      return Defect("no product of matrices of this element type");
    if (call.k > 0) return gemm_.Run(call, stream_);
    if (call.beta == 0) return Zero(call.out, call.batch * call.m * call.n * DTypeBits(call.dtype) / 8);
    return call.beta == 1 ? OkStatus() : Defect("a product of nothing that scales its result");
  }
  Result<bool> Conv(const ConvCall& call) override { return conv_.Run(call, stream_); }
  Result<bool> Attention(const AttentionCall& call) override { return attention_.Run(call, stream_); }
  Result<bool> HasAttention(const AttentionCall& call) override { return attention_.Has(call, stream_); }

  // Of what this thread does in this stream; other threads go on as they like.
  Status BeginGraph() override {
    SBP_RETURN_IF_ERROR(Checked(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "a graph's begin"));
    making_graph_ = true;
    return OkStatus();
  }
  Result<std::unique_ptr<Graph>> EndGraph() override {
    making_graph_ = false;
    cudaGraph_t noted = nullptr;
    const cudaError_t ended = cudaStreamEndCapture(stream_, &noted);
    static_cast<void>(cudaGetLastError());  // what failed is told here, not by the next call
    SBP_RETURN_IF_ERROR(Checked(ended, "a graph's end"));
    cudaGraphExec_t ready = nullptr;
    const cudaError_t made = cudaGraphInstantiate(&ready, noted, 0);
    static_cast<void>(cudaGraphDestroy(noted));
    static_cast<void>(cudaGetLastError());
    SBP_RETURN_IF_ERROR(Checked(made, "cudaGraphInstantiate"));
    return std::unique_ptr<Graph>(std::make_unique<CudaGraph>(ready, device_.ordinal()));
  }
  Status Launch(Graph& graph) override {
    return Checked(cudaGraphLaunch(static_cast<CudaGraph&>(graph).graph(), stream_), "cudaGraphLaunch");
  }

  Result<std::byte*> Scratch(int64_t bytes) override { return scratch_.Allocate(bytes); }
  void ResetScratch() override { scratch_.Reset(); }
  uint32_t* error_word() const override { return reinterpret_cast<uint32_t*>(error_word_.get()); }
  void* native() const override { return stream_; }

 private:
  Status Move(std::byte* to, const std::byte* from, int64_t bytes, cudaMemcpyKind kind) {
    if (bytes <= 0) return OkStatus();
    return Checked(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), kind, stream_), "cudaMemcpyAsync");
  }

  // A graph would read host memory, and wait for the host, when it is launched.
  Status CheckNoGraph() const { return making_graph_ ? RunFailed("the host has no part in a graph") : OkStatus(); }

  struct Destroy {
    void operator()(cudaStream_t stream) const { static_cast<void>(cudaStreamDestroy(stream)); }
  };

  Device& device_;
  cudaStream_t stream_ = nullptr;
  std::unique_ptr<CUstream_st, Destroy> owner_;  // before the libraries' handles, which end before their stream
  bool making_graph_ = false;
  Buffer error_word_, staging_;
  int64_t staged_ = 0;  // bytes of staging_
  ScratchBlocks scratch_;
  LtGemm gemm_;
  Dnn dnn_;
  DnnConv conv_{dnn_};
  DnnAttention attention_{dnn_};
};

}  // namespace

Result<std::unique_ptr<Stream>> MakeStream(Device& device) {
  auto stream = std::make_unique<CudaStream>(device);
  SBP_RETURN_IF_ERROR(stream->Open());
  return std::unique_ptr<Stream>(std::move(stream));
}

}  // namespace sbp::gpu::cuda
