// The MPI backend: every rank of the launched program is one device of the mesh. mpi.h is included in this folder only;
// a build without MPI has the same interface, and Start fails.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "runtime/exchange/communicator.h"
#include "sbp/mesh.h"

namespace sbp {

// MPI between its start and its end, of which a process has one. Rank r is the device at position r of the mesh.
class MpiSession {
 public:
  virtual ~MpiSession() = default;  // without Finish: ends all ranks

  // Reads and removes MPI's own arguments. Error (kUsage): built without MPI; an MPI that cannot serve several threads.
  static Result<std::unique_ptr<MpiSession>> Start(int* argc, char*** argv);

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string LibraryName() const = 0;  // "Open MPI v4.1.4"

  // The handles of this rank, for one stream. Called by all ranks in one order. Error (kUsage): the mesh has another
  // number of devices than there are ranks.
  virtual Result<DeviceCommunicators> MakeCommunicators(const Mesh& mesh, const CommunicatorOptions& options) = 0;

  // Ends MPI: waits until every rank has come here, well or not. Returns `status`, or the failure of another rank. A
  // rank that does not come within `patience`, or within two seconds of a failure, is not waited for: then this ends
  // all processes and does not return; `last_words` (may be empty) is called with the failure before that.
  virtual Status Finish(const Status& status, std::chrono::milliseconds patience,
                        const std::function<void(const Status& failure)>& last_words = {}) = 0;
};

}  // namespace sbp
