// Peak flops of an element type that the cluster may not state.
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/dtype.h"
#include "cluster/cluster.h"

namespace sbp {
namespace {

// How far `stated` is from `wanted`: class (small integers run on the integer matrix units; floats, and wide integers,
// bools and all others on the floating-point ones), then width in powers of two, and of two equally far the wider
// (slower) one.
int Distance(DType wanted, DType stated) {
  const auto log2_bits = [](DType dtype) {
    // Wide integers and the like have no float of their width to compare with; f32 is the common vector rate.
    const int bits = IsFloat(dtype) || IsSmallInteger(dtype) ? DTypeBits(dtype) : 32;
    return static_cast<int>(std::lround(std::log2(bits)));
  };
  const int difference = log2_bits(stated) - log2_bits(wanted);
  const int other_class = IsSmallInteger(wanted) != IsSmallInteger(stated) ? 100 : 0;
  return other_class + 2 * std::abs(difference) + (difference < 0 ? 1 : 0);
}

}  // namespace

FlopsAnswer FlopsFor(const DeviceSpec& device, DType dtype) {
  const auto exact = device.flops.find(dtype);
  if (exact != device.flops.end()) return {exact->second, dtype, false};
  FlopsAnswer answer;
  int nearest = std::numeric_limits<int>::max();
  for (const auto& [stated, constant] : device.flops) {
    const int distance = Distance(dtype, stated);
    if (distance < nearest) {
      answer = {constant, stated, true};
      nearest = distance;
    }
  }
  return answer;
}

}  // namespace sbp
