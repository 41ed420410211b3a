// What kernels note in a stream's error word.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "gpu/gpu.h"

namespace sbp {

enum DeviceError : uint32_t {
  kIndexOutOfRange = 1,
  kDividedByZero = 2,  // integers
};

// Waits for the stream's work and clears the word. Error (kRunFailed): what kernels noted since the last time.
Status TakeDeviceErrors(gpu::Stream& stream);

}  // namespace sbp
