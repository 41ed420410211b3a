// The backends of the program with one more, for tests: GPUs of the host (host_gpus.h).
#include <array>

#include "base/text.h"
#include "runtime/backends/backend.h"
#include "support/host_gpus.h"

namespace sbp {
namespace {

Result<std::unique_ptr<Backend>> StartHostBackend(const BackendOptions& options) {
  SBP_ASSIGN_OR_RETURN(std::shared_ptr<Launch> launch, JoinLaunch(options.identity));
  return MakeLaunchedHostBackend({.count = 8}, std::move(launch), options);
}

constexpr std::array<BackendRow, 4> kBackends = {{
    {.name = "cpu", .doc = "threads are the devices", .start = StartThreadBackend},
    {.name = "cuda",
     .doc = "GPUs of the host are the devices",
     .own_ranks = true,
     .has_gpus = true,
     .start = StartHostBackend},
    {.name = "fake", .doc = "virtual time, no data", .is_virtual = true, .start = StartFakeBackend},
    {.name = "mpi", .doc = "the ranks of mpirun are the devices", .start = StartMpiBackend},
}};

}  // namespace

std::span<const BackendRow> AllBackends() { return kBackends; }

Result<std::unique_ptr<Backend>> StartBackend(std::string_view name, const BackendOptions& options) {
  if (const BackendRow* row = FindBackend(name)) return row->start(options);
  return UsageError(StrCat("no backend ", Quote(name)));
}

}  // namespace sbp
