// The order that sorting uses: NaN comes after every number, and equals itself.
#pragma once

#include "base/host_device.h"

namespace sbp::scalar {

template <typename T>
SBP_HD bool Before(T a, T b) {
  return a < b || (a == a && b != b);
}

}  // namespace sbp::scalar
