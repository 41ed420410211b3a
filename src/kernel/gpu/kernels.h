// The GPU kernels, for their table. Each computes what the CPU's kernel of its name does (kernel/cpu/kernels.h).
#pragma once

#include "kernel/kernel.h"

namespace sbp::SBP_GPU_BUILD {

// cast.cu
Status BitCast(KernelCall& call);
Status Cast(KernelCall& call);

}  // namespace sbp::SBP_GPU_BUILD
