// What an overview says of the whole step, beside its parts; and the bars of both.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "render/canvas.h"
#include "render/overview.h"

namespace sbp {

inline constexpr std::string_view kComputeColour = "#4F6D9A";

struct BarPart {
  double size = 0;
  std::string_view colour;
  std::string tooltip;
};
// Side by side from the left; `whole`: what the bar's width stands for.
void AddBar(Canvas& canvas, const Rectangle& bar, const std::vector<BarPart>& parts, double whole);

// Time, collectives, memory, and what colours mean, from the top of the rectangle down.
void AddPanel(Canvas& canvas, const Overview& overview, const Rectangle& place);

}  // namespace sbp
