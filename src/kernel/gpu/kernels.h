// The GPU kernels, for their table. Each computes what the CPU's kernel of its name does (kernel/cpu/kernels.h).
#pragma once

#include "base/status.h"
#include "kernel/kernel.h"
#include "kernel/kernel_list.h"

namespace sbp::SBP_GPU_BUILD {

#define SBP_DECLARE(op, types, function) Status function(KernelCall& call);
#define SBP_NOT_HERE(op, types, function)
#define SBP_DECLARE_FUSED(op, types, function) \
  Status function(KernelCall& call);           \
  Result<bool> function##Declines(KernelCall& call);
SBP_KERNELS(SBP_DECLARE, SBP_NOT_HERE, SBP_DECLARE_FUSED)
#undef SBP_DECLARE
#undef SBP_DECLARE_FUSED
#undef SBP_NOT_HERE

}  // namespace sbp::SBP_GPU_BUILD
