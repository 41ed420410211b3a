// The kernels of this build, for the tables of gpu_kernels.h.
#pragma once

#include <span>

#include "kernel/kernel.h"

namespace sbp::SBP_GPU_BUILD {

std::span<const KernelRow> KernelRows();  // sorted by op

}  // namespace sbp::SBP_GPU_BUILD
