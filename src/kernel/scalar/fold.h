// Folds of reductions and running sums: a = F()(a, x), started from F::Start<T>().
#pragma once

#include <limits>
#include <type_traits>

#include "base/host_device.h"
#include "kernel/scalar/binary.h"

namespace sbp::scalar {

struct SumFold : AddOf {
  template <typename T>
  SBP_HD static T Start() {
    return T{0};
  }
};
struct ProductFold : MulOf {
  template <typename T>
  SBP_HD static T Start() {
    return T{1};
  }
};
struct MaxFold : MaxOf {
  template <typename T>
  SBP_HD static T Start() {
    if constexpr (std::is_floating_point_v<T>)
      return -std::numeric_limits<T>::infinity();
    else
      return std::numeric_limits<T>::lowest();
  }
};
struct MinFold : MinOf {
  template <typename T>
  SBP_HD static T Start() {
    if constexpr (std::is_floating_point_v<T>)
      return std::numeric_limits<T>::infinity();
    else
      return std::numeric_limits<T>::max();
  }
};

}  // namespace sbp::scalar
