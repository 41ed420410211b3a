// How wide text is, whatever fonts there are: drawings name Helvetica, Arial and sans-serif, and must come out alike
// where none of them is installed.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sbp {

// The fonts that drawings name.
inline constexpr std::string_view kFontFamily = "Helvetica,Arial,sans-serif";
// Behind it, of bold text outside of HTML-like labels: as Pango reads it.
inline constexpr std::string_view kBoldSuffix = " bold";

// Width in points of UTF-8 text of `size` points as Helvetica sets it. Viewers of SVG are told to set it so
// (svg_text.h).
double SetWidth(std::string_view text, double size, bool bold);

// Width that the widest of the common fonts takes (DejaVu Sans, Verdana, a monospaced one); at least SetWidth. Boxes
// are made for it, since not every viewer sets text as it is told.
double RoomFor(std::string_view text, double size, bool bold);

// The text, elided in its middle where it takes more than `room`; "" where not even a few letters fit.
std::string FitText(std::string_view text, double room, double size, bool bold);

// Each text so elided; those that differ, but would come out alike, are cut in front of the level ("layers.0") in which
// they first differ.
std::vector<std::string> FitTexts(std::span<const std::string> texts, double room, double size, bool bold);

}  // namespace sbp
