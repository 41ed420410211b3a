#include <string>

#include "base/text.h"
#include "cluster/cluster.h"
#include "physical/physical.h"
#include "plan/physical_plan.h"
#include "plan/plan.h"

namespace sbp {

std::string WarnOfArena(const Plan& plan, const PhysicalPlan& physical) {
  const double capacity = plan.cluster.device.memory_bytes.value;
  const double limit = plan.options.memory_limit ? static_cast<double>(*plan.options.memory_limit) : capacity;
  const auto arena = static_cast<double>(physical.arena_bytes) + static_cast<double>(plan.memory.workspace_bytes);
  if (limit <= 0 || arena <= limit) return "";
  const std::string of = plan.options.memory_limit ? "--memory-limit" : plan.cluster.device.name;
  std::string text = StrCat("the arena of ", FormatBytes(arena), " is more than the ", FormatBytes(limit), " of ", of);
  if (plan.kernels.empty()) return text + ": registers do not fit side by side without gaps; a lower limit leaves room";
  return text +
         ": this program's runtime runs op by op and keeps what a fused kernel would not; --execution eager plans "
         "for it";
}

}  // namespace sbp
