// Products and convolutions on the host: plain loops, for tests.
#pragma once

#include "gpu/gpu.h"

namespace sbp::gpu::host {

// Errors: an element type that Gemm does not have.
Status Gemm(const GemmCall& call);
// false: y_shape is not what pads_begin at both ends give, as gpu.h has it.
Result<bool> Conv(const ConvCall& call);

}  // namespace sbp::gpu::host
