#include "kernel/gpu/device_errors.h"

namespace sbp {

Status TakeDeviceErrors(gpu::Stream& stream) {
  auto* word = reinterpret_cast<std::byte*>(stream.error_word());
  uint32_t errors = 0;
  SBP_RETURN_IF_ERROR(stream.Download(word, reinterpret_cast<std::byte*>(&errors), sizeof errors));
  SBP_RETURN_IF_ERROR(stream.Zero(word, sizeof errors));
  SBP_RETURN_IF_ERROR(stream.Synchronize());
  if ((errors & kIndexOutOfRange) != 0) return RunFailed("an index is out of range");
  if ((errors & kDividedByZero) != 0) return RunFailed("an integer is divided by 0");
  return OkStatus();
}

}  // namespace sbp
