// The elements of Range: start, start + delta, ... as long as they lie before limit; delta is not 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/host_device.h"
#include "kernel/scalar/integer.h"

namespace sbp {

inline int64_t RangeCount(double start, double limit, double delta) {
  const double count = std::ceil((limit - start) / delta);
  return count > 0 ? static_cast<int64_t>(std::min(count, 0x1p62)) : 0;
}
inline int64_t RangeCount(int64_t start, int64_t limit, int64_t delta) {
  const bool none = delta > 0 ? limit <= start : limit >= start;
  if (none) return 0;
  const uint64_t span = delta > 0 ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                                  : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
  const uint64_t step = delta > 0 ? static_cast<uint64_t>(delta) : 0 - static_cast<uint64_t>(delta);
  return static_cast<int64_t>((span - 1) / step + 1);
}

SBP_HD inline double RangeElement(double start, double delta, int64_t i) {
  return start + static_cast<double>(i) * delta;
}
SBP_HD inline int64_t RangeElement(int64_t start, int64_t delta, int64_t i) {
  return scalar::WrapAdd(start, scalar::WrapMul(i, delta));
}

}  // namespace sbp
