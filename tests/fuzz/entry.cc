// libFuzzer's entry: one executable per target, whose name SBP_FUZZ_TARGET gives.
#include <cstddef>
#include <cstdint>

#include "fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (const sbp::fuzz::Target& target : sbp::fuzz::AllTargets()) {
    if (target.name == SBP_FUZZ_TARGET) target.run({reinterpret_cast<const char*>(data), size});
  }
  return 0;
}
