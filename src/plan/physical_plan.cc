#include "plan/physical_plan.h"

#include "base/checked_math.h"

namespace sbp {

int64_t Register::footprint() const {
  const int64_t padded = SaturatingMul(CeilDiv(bytes, kArenaAlignment), kArenaAlignment);
  return SaturatingMul(padded, int64_t{copies});
}

}  // namespace sbp
