// Communicators between threads of one process: every rank reads and writes the others' buffers directly.
#pragma once

#include <memory>
#include <vector>

#include "runtime/exchange/communicator.h"
#include "sbp/mesh.h"

namespace sbp {

// What one run's communicators share: the first failure. Thread-safe.
class AbortState;
std::shared_ptr<AbortState> MakeAbortState();

// The handles of every device of the mesh, by position.
std::vector<DeviceCommunicators> MakeThreadCommunicators(const Mesh& mesh, const CommunicatorOptions& options,
                                                         const std::shared_ptr<AbortState>& abort = MakeAbortState());

}  // namespace sbp
