// Gpu: what kernels and the runtime need of an accelerator: memory, streams, events, dense products, convolutions and
// collectives. Two implementations behind one interface: cuda/ (CUDA, cuBLASLt, cuDNN, NCCL; only there are their
// headers seen) and host/ (memory and threads of this process; calls are done when they return), by which kernels,
// runtime and communicators are tested where there is no GPU.
//
// Calls on a stream return at once; what they do happens in the order of the calls. A failure that a device reports
// late is returned by a later call on it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "sbp/shard_math.h"

namespace sbp::gpu {

struct DeviceInfo {
  std::string name;     // "NVIDIA H100 80GB HBM3"
  std::string library;  // versions: "CUDA 13.0, driver 580.65, cuBLAS 13.0.0, cuDNN 9.13, NCCL 2.28.3"
  int64_t memory_bytes = 0;
  int64_t free_bytes = 0;
};

struct MemoryState {
  int64_t total_bytes = 0, free_bytes = 0;
};

// Memory of the device, or of the host where the device reaches it fast (pinned). Freed with the last owner.
using Buffer = std::shared_ptr<std::byte>;

// A point in a stream's work.
class Event {
 public:
  virtual ~Event() = default;
  // Has all work before it been done?
  virtual Result<bool> IsDone() = 0;
};

// out[b] = alpha * op(a[b]) * op(c[b]) + beta * out[b], for b in [0, batch): row-major matrices, m x k by k x n.
struct GemmCall {
  // Of a and c: f32, f64, f16, bf16; out has the same. Sums are kept in f32 (f64 for f64).
  DType dtype = DType::kF32;
  bool allow_tf32 = false;                        // f32 products may round operands to tf32
  bool transpose_a = false, transpose_c = false;  // a is stored k x m; c is stored n x k
  int64_t batch = 1, m = 0, n = 0, k = 0;         // any of them may be 0
  int64_t stride_a = 0, stride_c = 0;             // elements from one batch to the next; 0: the same matrix for all
  const std::byte *a = nullptr, *c = nullptr;
  std::byte* out = nullptr;  // batches lie one after the other
  double alpha = 1, beta = 0;
};

// Cross-correlation as ONNX's Conv: x [N, C, spatial...] by w [M, C/groups, kernel...], no bias, 1 to 3 spatial
// dimensions. f32, f64, f16, bf16. Nothing is empty.
struct ConvCall {
  DType dtype = DType::kF32;
  bool allow_tf32 = false;
  int64_t groups = 1;
  Shape x_shape, w_shape, y_shape;
  std::vector<int64_t> strides, dilations, pads_begin;
  const std::byte *x = nullptr, *w = nullptr;
  std::byte* y = nullptr;
};

// out = softmax(scale * q k^T + bias) v for each head, rows of the softmax over the keys; all is kept in f32 in
// between. Heads of q that follow each other share one of k and v: heads / kv_heads of them. Nothing is empty.
struct AttentionCall {
  static constexpr int64_t kAlignment = 16;  // bytes, of the memory of every operand

  DType dtype = DType::kF16;  // f16 or bf16: of q, k, v, bias and out
  int64_t batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1;
  int64_t size = 1, value_size = 1;  // of a head: in q and k; in v and out
  // Elements from one batch, head and position to the next. Those of one head's position lie side by side.
  std::array<int64_t, 3> q_strides{}, k_strides{}, v_strides{}, out_strides{};
  const std::byte *q = nullptr, *k = nullptr, *v = nullptr;
  // [bias_batch, bias_heads, queries, keys], each of the first two 1 or all; finite. bias_batch 0: none.
  const std::byte* bias = nullptr;
  int64_t bias_batch = 0, bias_heads = 1;
  bool has_bias() const { return bias_batch > 0; }
  bool causal = false;  // query i sees the keys [0, i]
  double scale = 1;
  std::byte* out = nullptr;
};

// Calls on a stream, to be made again as one.
class Graph {
 public:
  virtual ~Graph() = default;
};

class Stream {
 public:
  virtual ~Stream() = default;

  // Between host and device. The host's memory must stay until the stream has come so far, and be pinned for the copy
  // to overlap with anything.
  virtual Status Upload(const std::byte* host, std::byte* device, int64_t bytes) = 0;
  // As Upload, of few bytes of ordinary (not pinned) memory, which may change or go when the call returns.
  virtual Status UploadNow(const std::byte* host, std::byte* device, int64_t bytes) = 0;
  virtual Status Download(const std::byte* device, std::byte* host, int64_t bytes) = 0;
  virtual Status Copy(const std::byte* from, std::byte* to, int64_t bytes) = 0;
  virtual Status Zero(std::byte* data, int64_t bytes) = 0;

  virtual Result<std::unique_ptr<Event>> MakeEvent(bool timed) = 0;
  virtual Status Record(Event& event) = 0;
  // What is called from now on waits for the event, of any stream of any device of this process.
  virtual Status Wait(Event& event) = 0;
  // The calling thread waits until all work so far is done.
  virtual Status Synchronize() = 0;
  // Between two timed events that have been recorded and are done.
  virtual Result<double> SecondsBetween(Event& from, Event& to) = 0;

  virtual Status Gemm(const GemmCall& call) = 0;
  // false: there is no algorithm for this one, or y_shape is not what pads_begin at both ends give; nothing was
  // started.
  virtual Result<bool> Conv(const ConvCall& call) = 0;
  // false: there is no fused kernel for this one; nothing was started.
  virtual Result<bool> Attention(const AttentionCall& call) = 0;
  // Is there one? Then what Attention needs besides the call's memory is ready; that memory need not be there yet.
  // Attention may still find none: where memory lies matters too.
  virtual Result<bool> HasAttention(const AttentionCall& call) = 0;

  // Between the two, by one thread, calls are noted and nothing is done; those that the host has a part in (uploads,
  // downloads, waiting) fail, and so may others. EndGraph follows in any case; what it gives after a call that failed
  // is of no use, if it gives anything.
  virtual Status BeginGraph() = 0;
  virtual Result<std::unique_ptr<Graph>> EndGraph() = 0;
  // Makes the calls of a graph of this stream: on the same memory, which must still be there.
  virtual Status Launch(Graph& graph) = 0;
  // Where a stream of the host notes kernels while a graph is made; nullptr: they run.
  virtual std::vector<std::function<void()>>* notes() { return nullptr; }

  // Memory for kernels that are called from now on, aligned to 256 bytes; the same bytes serve what is asked after
  // Reset, in the order of the stream. Grows when needed.
  virtual Result<std::byte*> Scratch(int64_t bytes) = 0;
  virtual void ResetScratch() = 0;

  // A word of the device, 0 at first, in which kernels note failures that only data can tell. Whoever runs them reads
  // and clears it (kernel/gpu/device_errors.h).
  virtual uint32_t* error_word() const = 0;

  // The library's own handle, for launches (cudaStream_t); nullptr on the host.
  virtual void* native() const = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual Result<DeviceInfo> Info() = 0;
  // Of all processes, with what the driver and libraries take.
  virtual Result<MemoryState> Memory() = 0;
  virtual int ordinal() const = 0;
  // Error (kRunFailed): out of memory, with what was asked for and what is free.
  virtual Result<Buffer> Allocate(int64_t bytes) = 0;
  virtual Result<Buffer> AllocatePinned(int64_t bytes) = 0;
  // Makes it the calling thread's device: before any other call on it or its streams from that thread.
  virtual Status Use() = 0;
  // Streams end before their device.
  virtual Result<std::unique_ptr<Stream>> MakeStream() = 0;
};

// The devices of this machine that this process may use. Error (kUsage): not in this build, with what to install;
// (kRunFailed): no driver, no device.
Result<int> CountCudaDevices();
// What tells it from all other GPUs; nothing is started on it.
Result<std::string> CudaDeviceId(int ordinal);
Result<std::unique_ptr<Device>> OpenCudaDevice(int ordinal);

}  // namespace sbp::gpu
