// Canvas: a drawing whose places are ours, as Graphviz source for its engine "nop2".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/number_text.h"

namespace sbp {

// In points, 72 to the inch; y grows upwards.
struct Rectangle {
  double left = 0, bottom = 0, width = 0, height = 0;

  double right() const { return left + width; }
  double top() const { return bottom + height; }
  double middle() const { return bottom + height / 2; }
};
struct Point {
  double x = 0, y = 0;
};

struct BoxStyle {
  std::string_view fill = "#FFFFFF", line = "#5B6577";
  double pen = 0.6;
  bool rounded = false;
};

enum class TextAlign : uint8_t { kLeft, kCentre, kRight };

struct TextStyle {
  double size = 9;
  bool bold = false;
  std::string_view colour = "#2B2E34";
  TextAlign align = TextAlign::kLeft;
};

struct LineStyle {
  std::string_view colour = "#5B6577";
  double pen = 1;
  bool arrow = false;  // at the last point
  bool dashed = false;
};

// Later boxes and texts lie over earlier ones; lines over both. Equal calls give equal bytes.
class Canvas {
 public:
  void Box(const Rectangle& place, const BoxStyle& style, std::string_view tooltip = "");
  // One line of text in the middle of the rectangle's height, elided to its width (text_width.h); nothing where not
  // even a few letters have room.
  void Text(const Rectangle& place, std::string_view text, const TextStyle& style);
  // Straight from point to point; two or more.
  void Line(const std::vector<Point>& points, const LineStyle& style, std::string_view tooltip = "");

  // The source; `name` is an identifier. At least one box or text.
  std::string Write(std::string_view name) const;

 private:
  void Node(const Rectangle& place, const std::string& attributes);

  PlainStream nodes_, edges_;
  size_t num_nodes_ = 0;
};

}  // namespace sbp
