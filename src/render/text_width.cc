#include "render/text_width.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "render/dot.h"
#include "render/facts.h"

namespace sbp {
namespace {

// Advance widths of U+0020 to U+007E in thousandths of the size: of Helvetica, whose Arial and Liberation Sans are
// equally wide, and of DejaVu Sans, as wide as Verdana.
constexpr std::array<uint16_t, 95> kSet = {
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584,
};
constexpr std::array<uint16_t, 95> kSetBold = {
    278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 333, 333, 584, 584, 584, 611, 975, 722, 722, 722, 722, 667,
    611, 778, 722, 278, 556, 722, 611, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
    667, 611, 333, 278, 333, 584, 556, 333, 556, 611, 556, 611, 556, 333, 611, 611, 278, 278, 556,
    278, 889, 611, 611, 611, 611, 389, 556, 333, 611, 556, 778, 556, 556, 500, 389, 280, 389, 584,
};
constexpr std::array<uint16_t, 95> kWide = {
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361,  318, 337, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
    575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635,  611, 732, 684, 989, 685,
    611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352,  635, 634, 278, 278, 579,
    278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592,  525, 636, 337, 636, 838,
};
constexpr std::array<uint16_t, 95> kWideBold = {
    348, 456,  521, 838, 696, 1002, 872, 306, 457, 457, 523, 838, 380, 415,  380, 365, 696, 696,  696,
    696, 696,  696, 696, 696, 696,  696, 400, 400, 838, 838, 838, 580, 1000, 774, 762, 734, 830,  683,
    683, 821,  837, 372, 372, 775,  637, 995, 837, 850, 733, 850, 770, 720,  682, 812, 774, 1103, 771,
    724, 725,  457, 365, 457, 838,  500, 500, 675, 716, 593, 716, 678, 435,  716, 712, 343, 343,  665,
    343, 1042, 712, 687, 716, 716,  493, 595, 478, 712, 652, 924, 645, 652,  582, 712, 365, 712,  838,
};
constexpr double kMonospace = 602;  // every character of DejaVu Sans Mono; Courier's have 600

bool IsWide(uint32_t c) {  // of East Asia and emoji: a square
  return (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) || (c >= 0xAC00 && c <= 0xD7A3) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
         (c >= 0xFFE0 && c <= 0xFFE6) || (c >= 0x1F300 && c <= 0x1FAFF) || (c >= 0x20000 && c <= 0x3FFFD);
}

struct Advance {
  double set = 0, wide = 0;
};

Advance AdvanceOf(uint32_t c, bool bold) {
  if (c < 0x20) return {};
  if (c <= 0x7E) {
    const size_t at = c - 0x20;
    return {static_cast<double>(bold ? kSetBold[at] : kSet[at]),
            std::max<double>(bold ? kWideBold[at] : kWide[at], kMonospace)};
  }
  if (c >= 0x300 && c <= 0x36F) return {};  // accents stand over the letter before them
  switch (c) {
    case 0xA0:  // no-break space
    case 0xB7:  // middle dot
      return {278, kMonospace};
    case 0xD7:  // times
      return {584, 838};
    case 0x2192:  // arrow
      return {1000, 1000};
    case 0x25A0:  // black square
      return {604, 945};
    default:
      break;
  }
  if (IsWide(c)) return {1000, 1210};
  return c < 0x2000 ? Advance{600, 780} : Advance{700, 1000};
}

uint32_t CodePoint(std::string_view sequence) {
  if (sequence.size() == 1) return static_cast<unsigned char>(sequence[0]);
  uint32_t c = static_cast<unsigned char>(sequence[0]) & (0xFFU >> (sequence.size() + 1));
  for (const char next : sequence.substr(1)) c = (c << 6) | (static_cast<unsigned char>(next) & 0x3F);
  return c;
}

Advance Sum(std::string_view text, bool bold) {
  Advance sum;
  ForEachCharacter(text, [&](std::string_view character) {
    const Advance advance = AdvanceOf(CodePoint(character), bold);
    sum.set += advance.set;
    sum.wide += advance.wide;
  });
  return sum;
}

}  // namespace

double SetWidth(std::string_view text, double size, bool bold) { return Sum(text, bold).set * size / 1000; }

double RoomFor(std::string_view text, double size, bool bold) { return Sum(text, bold).wide * size / 1000; }

std::string FitText(std::string_view text, double room, double size, bool bold) {
  if (RoomFor(text, size, bold) <= room) return std::string(text);
  constexpr size_t kLeast = 4;  // a letter, two dots, a letter: less says nothing
  // Shorten() keeps more the larger its limit is, so the largest that fits is found by halving.
  size_t fits = kLeast - 1, beyond = text.size();
  while (beyond - fits > 1) {
    const size_t middle = fits + (beyond - fits) / 2;
    (RoomFor(Shorten(text, middle), size, bold) <= room ? fits : beyond) = middle;
  }
  return fits < kLeast ? "" : Shorten(text, fits);
}

namespace {

// Where the level, or the two of "layers.0", begins in which the texts first differ.
size_t FirstDifference(const std::vector<std::string_view>& texts) {
  size_t common = texts.front().size();
  for (const std::string_view text : texts) {
    const auto ends = std::ranges::mismatch(text, texts.front());
    common = std::min(common, static_cast<size_t>(ends.in1 - text.begin()));
  }
  constexpr std::string_view kSeparators = "./";
  const std::string_view head = texts.front().substr(0, common);
  size_t begin = head.find_last_of(kSeparators);
  if (begin != std::string_view::npos && begin > 0) begin = head.find_last_of(kSeparators, begin - 1);
  return begin == std::string_view::npos ? 0 : begin + 1;
}

}  // namespace

std::vector<std::string> FitTexts(std::span<const std::string> texts, double room, double size, bool bold) {
  std::vector<std::string> fitted;
  std::map<std::string, std::vector<std::string_view>> alike;
  for (const std::string& text : texts) {
    fitted.push_back(FitText(text, room, size, bold));
    alike[fitted.back()].push_back(text);
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::vector<std::string_view>& others = alike.at(fitted[i]);
    if (std::ranges::all_of(others, [&](std::string_view other) { return other == texts[i]; })) continue;
    const size_t from = FirstDifference(others);
    if (from > 0) fitted[i] = FitText(StrCat("..", texts[i].substr(from)), room, size, bold);
  }
  return fitted;
}

}  // namespace sbp
