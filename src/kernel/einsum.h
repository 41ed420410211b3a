// Einsum as any device runs it: operands are joined from the left, two at a time. Of two, labels fall into batch (in
// both, and needed later), reduced (in both, and not), and those of one side; sorted in this way a join is one product
// of matrices per index of the batch. Operands are walked by strides, so that a diagonal or a stretched dimension costs
// nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "kernel/kernel.h"
#include "kernel/view.h"
#include "sbp/shard_math.h"

namespace sbp {

// What is left to a device. All elements are of one type; strides are in bytes.
class EinsumDevice {
 public:
  virtual ~EinsumDevice() = default;
  virtual int64_t element_bytes() const = 0;
  // Memory until the kernel is done.
  virtual Result<std::byte*> Allocate(int64_t bytes) = 0;
  // An operand's elements in the type of the computation, row-major.
  virtual Result<const std::byte*> Elements(const TensorView& view) = 0;
  // A single 1.
  virtual Result<std::byte*> One() = 0;
  virtual Status Copy(const Shape& shape, const std::byte* source, const std::vector<int64_t>& source_strides,
                      std::byte* target, const std::vector<int64_t>& target_strides) = 0;
  // out, dense, = a * b, element by element.
  virtual Status Multiply(const Shape& shape, const std::byte* a, const std::vector<int64_t>& a_strides,
                          const std::byte* b, const std::vector<int64_t>& b_strides, std::byte* out) = 0;
  // out[i] (m x n) = a[i] (m x k) b[i] (k x n), dense and row-major, for i in [0, batches).
  virtual Status Products(int64_t batches, int64_t m, int64_t n, int64_t k, const std::byte* a, const std::byte* b,
                          std::byte* out) = 0;
};

// Writes result 0, in its shape and the type of the computation, to `result`. Errors: the equation cannot be read or
// does not fit the operands.
Status RunEinsum(const KernelCall& call, EinsumDevice& device, std::byte* result);

}  // namespace sbp
