// CUDA's streams.
#pragma once

#include <memory>

#include "base/status.h"
#include "gpu/gpu.h"

namespace sbp::gpu::cuda {

Result<std::unique_ptr<Stream>> MakeStream(Device& device);

}  // namespace sbp::gpu::cuda
