// Communicators between threads of one process: every rank reads and writes the others' buffers directly.
#pragma once

#include <memory>
#include <vector>

#include "runtime/communicator.h"

namespace sbp {

// What one run's communicators share: the first failure. Thread-safe.
class AbortState;
std::shared_ptr<AbortState> MakeAbortState();

// The handles of every device of the mesh, by position, for one stream. A device that takes part in collectives on
// several streams needs handles for each, all with the same `abort`.
std::vector<DeviceCommunicators> MakeThreadCommunicators(const Mesh& mesh, const CommunicatorOptions& options,
                                                         const std::shared_ptr<AbortState>& abort = MakeAbortState());

}  // namespace sbp
