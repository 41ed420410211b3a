// The overview as a drawing.
#pragma once

#include <string>

#include "base/status.h"
#include "plan/plan.h"
#include "render/render.h"

namespace sbp {

// Graphviz source for its engine "nop2", of one screen (1600 x 1000 pixels at 96 dots per inch). Error: an --expand
// pattern that matches no scope.
Result<std::string> DrawOverview(const Plan& plan, const RenderOptions& options);

}  // namespace sbp
