#include "render/canvas.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "render/dot.h"
#include "render/text_width.h"

namespace sbp {
namespace {

std::string Points(double value) { return FormatDouble(std::round(value * 100) / 100); }
std::string Inches(double value) { return FormatDouble(std::round(value / 72 * 10000) / 10000); }
std::string Tooltip(std::string_view text) { return text.empty() ? "" : StrCat(", tooltip=", QuoteTooltip(text)); }
std::string At(const Point& point) { return StrCat(Points(point.x), ",", Points(point.y)); }

}  // namespace

// Graphviz wants the middle in points and sizes in inches.
void Canvas::Node(const Rectangle& place, const std::string& attributes) {
  nodes_ << "  n" << num_nodes_++ << " [pos=\"" << At({place.left + place.width / 2, place.middle()})
         << "\", width=" << Inches(std::max(place.width, 0.5)) << ", height=" << Inches(std::max(place.height, 0.5))
         << ", " << attributes << "];\n";
}

void Canvas::Box(const Rectangle& place, const BoxStyle& style, std::string_view tooltip) {
  Node(place, StrCat("fillcolor=\"", style.fill, "\", color=\"", style.line, "\"",
                     style.pen == BoxStyle().pen ? "" : StrCat(", penwidth=", FormatDouble(style.pen)),
                     style.rounded ? ", style=\"filled,rounded\"" : "", Tooltip(tooltip)));
}

void Canvas::Text(const Rectangle& place, std::string_view text, const TextStyle& style) {
  const std::string fitting = FitText(text, place.width, style.size, style.bold);
  if (fitting.empty()) return;
  // Where a line ends says how it is aligned.
  const char* end = style.align == TextAlign::kLeft ? "\\l\"" : style.align == TextAlign::kRight ? "\\r\"" : "\"";
  std::string label = QuoteDot(fitting);
  label.pop_back();
  Node(place, StrCat("label=", label, end, ", shape=plaintext, style=solid, fontsize=", FormatDouble(style.size),
                     style.bold ? StrCat(", fontname=\"", kFontFamily, kBoldSuffix, "\"") : "", ", fontcolor=\"",
                     style.colour, "\"", fitting == text ? "" : Tooltip(text)));
}

void Canvas::Line(const std::vector<Point>& points, const LineStyle& style, std::string_view tooltip) {
  // A spline of straight pieces: every inner point is the end of one and the beginning of the next. Graphviz draws the
  // arrow's head from the end of the spline to its tip.
  constexpr double kHead = 5;
  Point tip = points.back(), end = tip;
  if (style.arrow) {
    const Point before = points[points.size() - 2];
    const double length = std::hypot(tip.x - before.x, tip.y - before.y);
    const double part = length > kHead ? kHead / length : 0.5;
    end = {tip.x + (before.x - tip.x) * part, tip.y + (before.y - tip.y) * part};
  }
  std::string spline = style.arrow ? StrCat("e,", At(tip), " ") : "";
  spline += At(points.front());
  for (size_t i = 1; i < points.size(); ++i) {
    const Point from = points[i - 1], to = i + 1 == points.size() ? end : points[i];
    spline += StrCat(" ", At(from), " ", At(to), " ", At(to));
  }
  edges_ << "  n0 -> n0 [pos=\"" << spline << "\", color=\"" << style.colour
         << "\", penwidth=" << FormatDouble(std::round(style.pen * 10) / 10) << (style.dashed ? ", style=dashed" : "")
         << (style.arrow ? "" : ", dir=none") << Tooltip(tooltip) << "];\n";
}

std::string Canvas::Write(std::string_view name) const {
  return StrCat("digraph ", name, " {\n  graph [layout=nop2, bgcolor=\"#FFFFFF\", pad=0.05, outputorder=nodesfirst];\n",
                "  node [shape=box, fixedsize=true, style=filled, label=\"\", margin=0, fontname=\"", kFontFamily,
                "\", fontsize=9, penwidth=", FormatDouble(BoxStyle().pen), "];\n  edge [arrowsize=0.5];\n",
                nodes_.str(), edges_.str(), "}\n");
}

}  // namespace sbp
