// Kernels: the code that computes one op on one device. Found by name, element type and device in one table.
//
// A kernel sees only its own device's parts and where they lie in the whole tensors: for every candidate that the op's
// rule allows, running it on each device's parts gives that device's parts of the results. Positions (an index, an
// iota, a random number's counter) always count in the whole tensor; an index into a part that another device holds
// contributes nothing (0). Attributes are those of the whole op.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "graph/graph.h"
#include "kernel/view.h"

namespace sbp {

namespace gpu {
class Stream;
}

// Memory that lasts until the kernel returns; the same bytes serve the next call. One per thread of execution.
class Scratch {
 public:
  // Aligned to 64 bytes, not zeroed. Grows when needed; nothing is freed before Reset.
  std::byte* Allocate(int64_t bytes);
  template <typename T>
  T* Allocate(int64_t count) {
    return reinterpret_cast<T*>(Allocate(count * static_cast<int64_t>(sizeof(T))));
  }
  void Reset();
  int64_t capacity() const;

 private:
  std::vector<std::vector<std::byte>> blocks_;
  size_t block_ = 0;
  size_t used_ = 0;
};

struct KernelCall {
  std::string_view op_type;
  const Attributes* attributes = nullptr;  // never null; defaults of the op's schema are not filled in
  std::vector<TensorView> inputs;          // absent ones are not present()
  // Allocated by the caller in the shapes that the rule inferred. A kernel whose result sizes depend on data (NonZero,
  // TopK with a computed k, ...) sets shape, whole and ranges of what it wrote; the buffer holds the largest.
  std::vector<TensorView> outputs;
  uint64_t seed = 0;           // of random ops: the same on every device
  Scratch* scratch = nullptr;  // never null
  int threads = 1;             // that a kernel may use at most, its caller's included
  // Of kernels for GPUs: where the work goes, which is not done when the kernel returns. The data lie on its device.
  gpu::Stream* stream = nullptr;
  // Of kernels for GPUs: the inputs whose values the op's rule reads (RuleSet::ReadsValue: starts of a Slice, axes, k,
  // ...) once more, in this process's memory; the others are absent. Empty for kernels of the CPU.
  std::vector<TensorView> host_inputs;
  bool allow_tf32 = false;  // of kernels for GPUs: products of f32 may round their operands to tf32
  // Set by a kernel that may decline: nothing was computed, the op's expansion has to.
  bool declined = false;

  bool has(size_t i) const { return i < inputs.size() && inputs[i].present(); }
  bool wants(size_t r) const { return r < outputs.size() && outputs[r].present(); }
};

// Writes every wanted result. Errors (kRunFailed): what only data can tell (an index out of range, ...); the message
// does not name the op, the caller does.
using KernelFn = Status (*)(KernelCall& call);
// Would the kernel decline this call? Nothing is computed, and the views have no data; what it needs of the stream's
// scratch is taken.
using DeclinesFn = Result<bool> (*)(KernelCall& call);

enum class KernelDevice : uint8_t { kCpu, kCuda };

// A set of element types.
class TypeSet {
 public:
  constexpr TypeSet() = default;
  constexpr TypeSet(std::initializer_list<DType> types) {
    for (const DType t : types) bits_ |= uint32_t{1} << static_cast<int>(t);
  }
  constexpr bool has(DType t) const { return (bits_ >> static_cast<int>(t)) & 1; }
  constexpr TypeSet operator|(TypeSet other) const {
    other.bits_ |= bits_;
    return other;
  }

 private:
  uint32_t bits_ = 0;
};

struct KernelRow {
  std::string_view op;  // "MatMul", "com.microsoft::FusedMatMul"
  TypeSet types;        // of the first present operand; of the first result where there is none
  KernelDevice device = KernelDevice::kCpu;
  KernelFn run = nullptr;
  DeclinesFn declines = nullptr;  // of a library's fused kernel, which has not every form; others never decline

  bool may_decline() const { return declines != nullptr; }
};

std::span<const KernelRow> AllKernels();  // sorted by op; all_kernels.cc
// nullptr: none. The first row whose op, device and types match.
const KernelRow* FindKernel(std::string_view op, DType type, KernelDevice device = KernelDevice::kCpu);
// The type that decides: of the first present operand, else of the first wanted result.
DType DecidingType(std::span<const TensorView> inputs, std::span<const TensorView> outputs);

}  // namespace sbp
