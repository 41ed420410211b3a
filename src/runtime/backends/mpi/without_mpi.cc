// What a build without MPI has in its place.
#include <memory>

#include "base/status.h"
#include "runtime/backends/mpi/mpi_session.h"

namespace sbp {

Result<std::unique_ptr<MpiSession>> MpiSession::Start(int* /*argc*/, char*** /*argv*/) {
  return UsageError("this build has no MPI: install its headers (libopenmpi-dev) and build again");
}

}  // namespace sbp
