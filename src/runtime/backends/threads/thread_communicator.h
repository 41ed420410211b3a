// Communicators between threads of one process: every rank reads and writes the others' buffers directly.
#pragma once

#include <memory>
#include <vector>

#include "runtime/exchange/communicator.h"
#include "runtime/processes/failure_detector.h"
#include "sbp/mesh.h"

namespace sbp {

// The handles of every device of the mesh, by position. `failure`: what the run's communicators share.
std::vector<DeviceCommunicators> MakeThreadCommunicators(
    const Mesh& mesh, const CommunicatorOptions& options,
    const std::shared_ptr<FirstFailure>& failure = std::make_shared<FirstFailure>());

}  // namespace sbp
