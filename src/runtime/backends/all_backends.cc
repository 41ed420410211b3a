// The table of backends.
#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "runtime/backends/backend.h"

namespace sbp {
namespace {

constexpr std::array<BackendRow, 4> kBackends = {{
    {.name = "cpu", .doc = "threads are the devices", .start = StartThreadBackend},
    {.name = "cuda",
     .doc = "NVIDIA GPUs are the devices",
     .own_ranks = true,
     .has_gpus = true,
     .start = StartCudaBackend},
    {.name = "fake", .doc = "virtual time, no data", .is_virtual = true, .start = StartFakeBackend},
    {.name = "mpi", .doc = "the ranks of mpirun are the devices", .start = StartMpiBackend},
}};

}  // namespace

std::span<const BackendRow> AllBackends() { return kBackends; }

Result<std::unique_ptr<Backend>> StartBackend(std::string_view name, const BackendOptions& options) {
  if (const BackendRow* row = FindBackend(name)) return row->start(options);
  std::vector<std::string> names;
  for (const BackendRow& known : kBackends) names.emplace_back(known.name);
  return UsageError(StrCat("no backend ", Quote(name), DidYouMean(name, names), "; there are ", Join(names, ", ")));
}

}  // namespace sbp
