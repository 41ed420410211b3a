// Windows that slide over up to three spatial dimensions: convolutions and pools. Fewer dimensions are seen as three,
// the leading ones of size 1.
#pragma once

#include <array>
#include <cstdint>

#include "base/host_device.h"
#include "base/status.h"
#include "kernel/kernel.h"
#include "sbp/shard_math.h"

namespace sbp {

SBP_HD inline int64_t CeilDivide(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

// One spatial dimension. Windows lie over the whole; begins and held sizes say where the parts of input and output are.
// The output's index o (local) has under its window's element k the input's local index
//   (out_begin + o) * stride - pad_low + k * dilation - in_begin.
struct WindowAxis {
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t pad_low = 0, pad_high = 0;
  int64_t in_whole = 1, in_begin = 0, in_held = 1;
  int64_t out_begin = 0, out_held = 1;

  SBP_HD int64_t Under(int64_t o, int64_t k) const {
    return (out_begin + o) * stride - pad_low + k * dilation - in_begin;
  }
  // The window's elements that lie within the whole input.
  SBP_HD Range Inside(int64_t o) const {
    const int64_t first = (out_begin + o) * stride - pad_low, begin = Clamped(CeilDivide(-first, dilation), 0);
    return {begin, Clamped(CeilDivide(in_whole - first, dilation), begin)};
  }
  // How many of them lie within the padded input.
  SBP_HD int64_t PaddedCount(int64_t o) const {
    const int64_t first = (out_begin + o) * stride - pad_low;
    return Clamped(CeilDivide(in_whole + pad_high - first, dilation), 0);
  }
  // Output indices [begin, end) whose window's element k lies within the whole input.
  Range OutputsOver(int64_t k) const;

 private:
  SBP_HD int64_t Clamped(int64_t k, int64_t low) const { return k < low ? low : k > kernel ? kernel : k; }
};
using Window = std::array<WindowAxis, 3>;

// Of an op whose operand 0 is (N, C, spatial...) and whose result 0, or the last one where 0 is not wanted, has the
// same rank; `kernel`: the window's sizes. Errors: more than three spatial dimensions, attributes of other lengths, a
// part that lacks elements under its windows.
Result<Window> WindowOf(const KernelCall& call, const Shape& kernel);
// The same of a transposed convolution, whose result is the larger side: there in_* tells of the result and out_* of
// the operand.
Result<Window> TransposedWindowOf(const KernelCall& call, const Shape& kernel);

}  // namespace sbp
