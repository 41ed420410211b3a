// Collectives between processes, for GPUs of the host: every call gathers what all processes give, through the launch.
// Groups of some ranks work so too, as all devices call the collectives of an axis in one order.
#pragma once

#include <memory>

#include "gpu/collectives.h"
#include "runtime/processes/launch.h"

namespace sbp {

Result<std::shared_ptr<gpu::Collectives>> JoinByLaunch(std::shared_ptr<Launch> launch);

}  // namespace sbp
