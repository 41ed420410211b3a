// What GpuMovement (movement.h) holds of this build.
#pragma once

#include "kernel/gpu/movement.h"

namespace sbp::SBP_GPU_BUILD {

GpuMovement Movement();

}  // namespace sbp::SBP_GPU_BUILD
