// Roofline price of an op on one device.
#include <algorithm>

#include "cost/cost.h"

namespace sbp {

double ComputeSeconds(const DeviceSpec& device, const Work& work) {
  if (work.flops <= 0 && work.bytes <= 0) return 0;  // a view: no kernel runs
  const double flops = FlopsFor(device, work.dtype).constant.value * device.compute_efficiency.value;
  const double bandwidth = device.memory_bandwidth.value * device.memory_efficiency.value;
  return std::max(work.flops / flops, work.bytes / bandwidth) + device.launch_seconds.value;
}

}  // namespace sbp
