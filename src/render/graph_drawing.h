// The drawing of a graph, op by op, of no more than Graphviz lays out in seconds.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "plan/plan.h"
#include "render/render.h"
#include "render/view.h"

namespace sbp {

// Ranks that the edges of a view cross, all together: Graphviz puts a point of its own where an edge crosses a rank,
// and nearly all its time and memory go into these. Estimated by longest paths, in time linear in the view.
int64_t RanksCrossed(const View& view);

// A drawing of more is folded further, whatever is asked for: 6,000 take a few seconds, 30,000 a minute.
inline constexpr int64_t kMostRanksCrossed = 6'000;

// Graphviz source. Error: as MakeView().
Result<std::string> DrawGraph(const Plan& plan, const RenderOptions& options);

}  // namespace sbp
