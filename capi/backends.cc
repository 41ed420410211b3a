// The table of backends of a library: those that need nothing but this process. The others keep their names, so that
// asking for one says where it is.
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

Result<std::unique_ptr<Backend>> RefuseInProcess(const BackendOptions& /*options*/) {
  return UsageError("this backend is of the program sbp-plan: a library starts no processes and uses no GPUs");
}

constexpr std::array<BackendRow, 4> kLibraryBackends = {{
    {.name = "cpu", .doc = "threads are the devices", .start = StartThreadBackend},
    {.name = "cuda", .doc = "of the program", .has_gpus = true, .start = RefuseInProcess},
    {.name = "fake", .doc = "virtual time, no data", .is_virtual = true, .start = StartFakeBackend},
    {.name = "mpi", .doc = "of the program", .start = RefuseInProcess},
}};

}  // namespace

std::span<const BackendRow> AllBackends() { return kLibraryBackends; }

Result<std::unique_ptr<Backend>> StartBackend(std::string_view name, const BackendOptions& options) {
  if (const BackendRow* row = FindBackend(name)) {
    auto started = row->start(options);
    if (!started.ok()) return started.status().WithContext(StrCat("--backend ", name));
    return started;
  }
  std::vector<std::string> names;
  for (const BackendRow& known : kLibraryBackends) names.emplace_back(known.name);
  return UsageError(StrCat("no backend ", Quote(name), DidYouMean(name, names), "; there are ", Join(names, ", ")));
}

}  // namespace sbp
