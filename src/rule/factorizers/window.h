// Sliding windows over spatial dimensions: attributes, sizes, and what a split of such a dimension needs of its
// neighbours.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/carry.h"

namespace sbp {

struct WindowDim {
  int64_t in = 0;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0, pad_end = 0;
  int64_t out = 0;
  int64_t reach() const {
    return (kernel - 1) * dilation + 1;
  }  // elements from the first to the last one that it reads
};

enum class WindowRounding : uint8_t { kFloor, kCeil };

// Attributes are bounded so that sizes computed from them cannot overflow.
inline constexpr int64_t kMaxWindowAttribute = int64_t{1} << 31;

// An attribute of `count` integers in [low, kMaxWindowAttribute]; all `fallback` when absent.
Result<std::vector<int64_t>> WindowAttribute(const FactorizerContext& context, std::string_view name, size_t count,
                                             int64_t fallback, int64_t low);

// Windows of `kernel` over dimensions of size `in`, by the attributes strides, dilations, pads and auto_pad; fills
// `out`.
Result<std::vector<WindowDim>> ReadWindow(const FactorizerContext& context, const std::vector<int64_t>& in,
                                          const std::vector<int64_t>& kernel, WindowRounding rounding);

// A factor for one spatial dimension, split with a halo. Parts line up only where in == stride * out: a part of the
// output then needs that part of the input and a fixed number of neighbours. Elsewhere the dimension stays whole, with
// a note. Returns the factor, or kNoFactor.
FactorId CarryWindow(FactorizerContext& context, const WindowDim& dim, DimFactors& in, DimFactors& out);

// The same with input and output exchanged (transposed convolution: out == stride * in).
FactorId CarryTransposedWindow(FactorizerContext& context, const WindowDim& dim, DimFactors& in, DimFactors& out);

}  // namespace sbp
