// The GPU kernels, for their table. Each computes what the CPU's kernel of its name does (kernel/cpu/kernels.h).
#pragma once

#include "kernel/kernel_list.h"

namespace sbp::SBP_GPU_BUILD {

#define SBP_DECLARE(op, types, function) Status function(KernelCall& call);
#define SBP_NOT_HERE(op, types, function)
SBP_KERNELS(SBP_DECLARE, SBP_NOT_HERE, SBP_DECLARE)
#undef SBP_DECLARE
#undef SBP_NOT_HERE

}  // namespace sbp::SBP_GPU_BUILD
