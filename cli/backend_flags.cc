#include "cli/backend_flags.h"

#include <string_view>
#include <vector>

#include "base/text.h"
#include "runtime/backends/backend.h"

namespace sbp {

std::string GpuBackends() {
  std::vector<std::string_view> names;
  for (const BackendRow& row : AllBackends()) {
    if (row.has_gpus) names.push_back(row.name);
  }
  return Join(names, ", ");
}

}  // namespace sbp
