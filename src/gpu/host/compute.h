// Products, convolutions and attention on the host: plain loops, for tests.
#pragma once

#include "base/status.h"
#include "gpu/gpu.h"

namespace sbp::gpu::host {

// Errors: an element type that Gemm does not have.
Status Gemm(const GemmCall& call);
// false: y_shape is not what pads_begin at both ends give, as gpu.h has it.
Result<bool> Conv(const ConvCall& call);
bool HasConv(const ConvCall& call);
// false: sizes of heads that are no multiple of 8, as cuDNN has it.
Result<bool> Attention(const AttentionCall& call);
bool HasAttention(const AttentionCall& call);

}  // namespace sbp::gpu::host
