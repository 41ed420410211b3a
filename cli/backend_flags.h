// What flags say of backends.
#pragma once

#include <string>

namespace sbp {

// The names of those whose devices are GPUs, as help and errors list them: "cuda".
std::string GpuBackends();

}  // namespace sbp
