// One strided loop over several tensors: broadcasting, any rank, dimensions merged where they can be. Element-wise
// kernels and reductions give the innermost loop; elements are converted on the way in and out when it computes in
// another type than they are stored in.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "kernel/view.h"
#include "sbp/shard_math.h"

namespace sbp::cpu {

inline constexpr int kMaxLoopOperands = 4;

// data[i] is operand i's first element, strides[i] its step in bytes: the element's size, 0, or any other.
using InnerLoop = void (*)(std::byte* const* data, const int64_t* strides, int64_t n, void* context);

class StridedLoop {
 public:
  explicit StridedLoop(Shape shape) : shape_(std::move(shape)) {}

  // The next operand, stretched to the loop's shape (aligned at the right). The inner loop sees elements of `seen`.
  // Error: it cannot be stretched.
  Status Add(const TensorView& view, DType seen);
  // The next operand by its strides in bytes, one per dimension; seen as it is stored.
  void AddStrided(std::byte* data, std::vector<int64_t> strides, int64_t element_bytes);

  // The first operand is written, the others are read. A first operand that is stretched (stride 0) is folded into: it
  // must be seen as it is stored.
  void Run(InnerLoop inner, void* context);

 private:
  struct Operand {
    std::byte* data = nullptr;
    std::vector<int64_t> strides;
    DType stored = DType::kUndefined, seen = DType::kUndefined;  // both kUndefined: as stored
    int64_t seen_bytes = 0;
    bool converted() const { return stored != seen; }
  };
  void Merge();
  void RunLine(InnerLoop inner, std::array<std::byte*, kMaxLoopOperands> data, void* context) const;

  Shape shape_;
  std::vector<Operand> operands_;
};

}  // namespace sbp::cpu
