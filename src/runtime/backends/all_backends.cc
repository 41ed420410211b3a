// The table of backends.
#include <algorithm>
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
    {"cpu", "threads are the devices", false, StartThreadBackend},
    {"cuda", "NVIDIA GPUs are the devices", true, StartCudaBackend},
    {"fake", "virtual time, no data", false, StartFakeBackend},
    {"mpi", "the ranks of mpirun are the devices", false, StartMpiBackend},
}};

}  // namespace

std::span<const BackendRow> AllBackends() { return kBackends; }

Result<std::unique_ptr<Backend>> StartBackend(std::string_view name, const BackendOptions& options) {
  const auto row =
      std::find_if(kBackends.begin(), kBackends.end(), [&](const BackendRow& r) { return r.name == name; });
  if (row != kBackends.end()) return row->start(options);
  std::vector<std::string> names;
  for (const BackendRow& known : kBackends) names.emplace_back(known.name);
  return UsageError(StrCat("no backend ", Quote(name), DidYouMean(name, names), "; there are ", Join(names, ", ")));
}

}  // namespace sbp
