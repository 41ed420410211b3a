// A picture format: one line.
#include "base/text.h"
#include "render/render.h"

namespace sbp {

Result<std::string> WriteToy(const Plan& plan, const RenderOptions&) {
  return StrCat(plan.graph.ops.size(), " ops and ", plan.transitions.size(), " toys\n");
}

}  // namespace sbp
