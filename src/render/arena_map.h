// The arena of a device as a map: tasks from left to right, bytes from the bottom to the top, a rectangle a register.
#pragma once

#include <string>

#include "base/status.h"
#include "plan/plan.h"
#include "render/render.h"

namespace sbp {

// Graphviz source with all positions given. Registers too small to be seen are left out, and counted. Error (kUsage): a
// plan without a physical part.
Result<std::string> DrawArena(const Plan& plan, const RenderOptions& options);

}  // namespace sbp
