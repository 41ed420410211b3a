#include "render/overview_panel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cluster/collective_kind.h"
#include "cost/collective.h"
#include "render/facts.h"
#include "render/palette.h"
#include "render/text_width.h"

namespace sbp {
namespace {

constexpr std::string_view kInk = "#1F2733", kPale = "#5B6577", kAlarm = "#CC3333";
constexpr double kPanelLine = 13, kHeadLine = 17, kBetween = 9;
constexpr double kLegendRoom = 140;
constexpr double kNumber = 57;  // room for a number
constexpr double kRowIndent = 13, kRowSize = 8.5;
// Of parts of memory, in their order.
constexpr std::array<std::string_view, 7> kMemoryColours = {"#5E7AA8", "#C79A3F", "#A673BE", "#8E3FB0",
                                                            "#2F8052", "#CC6633", "#8C93A3"};

std::string Percent(double part, double whole) {
  const double share = whole > 0 ? 100 * part / whole : 0;
  return StrCat(share > 0 && share < 1 ? "< 1" : FormatDouble(std::round(share)), " %");
}

class Panel {
 public:
  Panel(Canvas& canvas, const Overview& overview, const Rectangle& place)
      : canvas_(canvas), overview_(overview), place_(place), top_(place.top()) {}

  void Draw() {
    canvas_.Box(place_, {"#FAFBFC", "#D5DAE2", 0.6, true});
    top_ -= 8;
    if (overview_.bare) {
      AddTypes();
    } else {
      AddTime();
      AddCollectives();
      AddMemory();
    }
    AddLegend();
  }

 private:
  double Left() const { return place_.left + 10; }
  double Width() const { return place_.width - 20; }
  // The next line of the panel.
  Rectangle Next(double height) {
    top_ -= height;
    return {Left(), top_, Width(), height};
  }
  bool HasRoom(double height) const { return top_ - height > place_.bottom + 4; }

  void Head(std::string_view title, const std::string& note) {
    const Rectangle line = Next(kHeadLine);
    canvas_.Text({line.left, line.bottom, line.width * 0.42, line.height}, title, {11, true, kInk});
    canvas_.Text({line.left + line.width * 0.42, line.bottom, line.width * 0.58, line.height}, note,
                 {9, false, kPale, TextAlign::kRight});
  }

  // A square of colour, words, and numbers at fixed places from the right.
  void Row(std::string_view colour, const std::string& words, const std::vector<std::string>& numbers) {
    const Rectangle line = Next(kPanelLine);
    if (!colour.empty()) canvas_.Box({line.left, line.bottom + 3, 8, 8}, {colour, colour});

    const double taken = kNumber * static_cast<double>(numbers.size());
    canvas_.Text({line.left + kRowIndent, line.bottom, line.width - kRowIndent - taken, line.height}, words,
                 {kRowSize, false, kInk});
    for (size_t i = 0; i < numbers.size(); ++i) {
      canvas_.Text({line.right() - taken + kNumber * static_cast<double>(i), line.bottom, kNumber, line.height},
                   numbers[i], {kRowSize, false, kInk, TextAlign::kRight});
    }
  }

  void AddTime() {
    const double total = overview_.compute_seconds + overview_.collective_seconds;
    Head("Sum of prices", FormatSeconds(total));
    std::map<CollectiveKind, double> by_kind;
    double named = 0;
    for (const OverviewCollective& sum : overview_.collectives) {
      by_kind[sum.kind] += sum.seconds;
      named += sum.seconds;
    }
    std::vector<BarPart> parts = {{overview_.compute_seconds, kComputeColour, "compute"}};
    for (const auto& [kind, seconds] : by_kind) {
      parts.push_back({seconds, PaintOf(kind).fill, std::string(CollectiveKindName(kind))});
    }
    AddBar(canvas_, Next(12), parts, total);
    top_ -= 3;
    Row(kComputeColour, "compute",
        {FormatSeconds(overview_.compute_seconds), Percent(overview_.compute_seconds, total)});
    for (const auto& [kind, seconds] : by_kind) {
      Row(PaintOf(kind).fill, std::string(CollectiveKindName(kind)), {FormatSeconds(seconds), Percent(seconds, total)});
    }
    const double local = overview_.collective_seconds - named;
    if (local > 1e-3 * total) {
      Row("#DDDDDD", "cutting and filling in place", {FormatSeconds(local), Percent(local, total)});
    }
    top_ -= kBetween;
  }

  void AddCollectives() {
    int64_t count = 0;
    for (const OverviewCollective& sum : overview_.collectives) count += sum.count;
    Head("Collectives", overview_.collectives.empty() ? "none" : StrCat(FormatCount(count), " in a step"));
    if (overview_.collectives.empty()) {
      top_ -= kBetween;
      return;
    }
    const Rectangle line = Next(kPanelLine);
    const std::array<std::string_view, 3> titles = {"count", "bytes sent", "time"};
    for (size_t i = 0; i < titles.size(); ++i) {
      canvas_.Text({line.right() - kNumber * static_cast<double>(titles.size() - i), line.bottom, kNumber, line.height},
                   titles[i], {8, false, kPale, TextAlign::kRight});
    }
    constexpr size_t kMost = 9;
    for (size_t i = 0; i < std::min(overview_.collectives.size(), kMost); ++i) {
      const OverviewCollective& sum = overview_.collectives[i];
      Row(PaintOf(sum.kind).fill, StrCat(CollectiveKindName(sum.kind), " over ", sum.axis),
          {FormatCount(sum.count), FormatBytes(sum.bytes), FormatSeconds(sum.seconds)});
    }
    if (overview_.collectives.size() > kMost) Row("", StrCat(overview_.collectives.size() - kMost, " more kinds"), {});
    top_ -= kBetween;
  }

  void AddMemory() {
    const auto peak = static_cast<double>(overview_.peak_bytes), device = static_cast<double>(overview_.device_bytes);
    if (peak <= 0) return;
    Head("Memory peak",
         StrCat(FormatBytes(peak), device > 0 ? " of " : "", device > 0 ? FormatBytes(device) : "", " per device"));
    std::vector<BarPart> parts;
    for (size_t i = 0; i < overview_.memory.size(); ++i) {
      const auto& [name, bytes] = overview_.memory[i];
      parts.push_back({static_cast<double>(bytes), kMemoryColours[i % kMemoryColours.size()], name});
    }
    const Rectangle bar = Next(12);
    const double whole = std::max(peak, device);
    canvas_.Box(bar, {"#FFFFFF", "#D5DAE2", 0.4});
    AddBar(canvas_, bar, parts, whole);
    if (device > 0 && peak > device) {
      const double x = bar.left + bar.width * device / whole;
      canvas_.Line({{x, bar.bottom - 2}, {x, bar.top() + 2}}, {kAlarm, 1.6}, "memory of a device");
    }
    top_ -= 3;
    if (const std::string words = DoesNotFit(overview_.peak_bytes, overview_.device_bytes); !words.empty()) {
      const Rectangle line = Next(kPanelLine);
      canvas_.Text(line, words, {9, true, kAlarm});
    }
    for (size_t i = 0; i < overview_.memory.size(); ++i) {
      const auto bytes = static_cast<double>(overview_.memory[i].second);
      Row(kMemoryColours[i % kMemoryColours.size()], overview_.memory[i].first,
          {FormatBytes(bytes), Percent(bytes, peak)});
    }
    constexpr size_t kMost = 8;
    if (!overview_.holders.empty() && HasRoom(kLegendRoom)) {
      top_ -= 3;
      const Rectangle line = Next(kPanelLine);
      canvas_.Text(line, "largest at the peak", {8, false, kPale});
      std::vector<std::string> names;
      for (const auto& [name, bytes] : overview_.holders) names.push_back(name);
      names.resize(std::min(names.size(), kMost));
      names = FitTexts(names, Width() - kRowIndent - kNumber, kRowSize, false);
      for (size_t i = 0; i < names.size() && HasRoom(kLegendRoom); ++i) {
        Row("", names[i], {FormatBytes(static_cast<double>(overview_.holders[i].second))});
      }
    }
    top_ -= kBetween;
  }

  void AddTypes() {
    Head("Ops by type", StrCat(overview_.types.size(), " types"));
    constexpr size_t kMost = 16;
    for (size_t i = 0; i < std::min(overview_.types.size(), kMost); ++i) {
      Row("", overview_.types[i].first, {FormatCount(static_cast<int64_t>(overview_.types[i].second))});
    }
    if (overview_.types.size() > kMost) Row("", StrCat(overview_.types.size() - kMost, " more"), {});
    top_ -= kBetween;
    int64_t bytes = 0;
    for (const OverviewRow& row : overview_.rows) bytes += row.parameter_bytes;
    Head("Parameters", FormatBytes(static_cast<double>(bytes)));
    top_ -= kBetween;
  }

  void AddLegend() {
    Head("Legend", "");
    std::set<Sharing> sharings;
    for (const OverviewRow& row : overview_.rows) {
      sharings.insert(row.forward.sharing);
      if (row.backward.ops > 0) sharings.insert(row.backward.sharing);
    }
    const std::map<Sharing, std::string> words = {{Sharing::kAllAxes, "work divided over every mesh axis"},
                                                  {Sharing::kSomeAxes, "some of it over some axes only"},
                                                  {Sharing::kReplicated, "every device does it all"}};
    for (const Sharing sharing : sharings) {
      if (words.contains(sharing)) Row(PaintOf(sharing).line, words.at(sharing), {});
    }
    Row(kComputeColour, overview_.bare ? "bar: number of ops" : "bar: time in a step, compute then collectives", {});
    if (!overview_.frames.empty()) Row("#4B5BD6", "frame: repeated layers, drawn once; times are of all", {});
    if (overview_.training) Row(kKeptColour, "kept for the backward pass, bytes per device", {});
    if (!overview_.bare) Row("", "beside arrows: layout and bytes of the whole tensor", {});
    if (!DoesNotFit(overview_.peak_bytes, overview_.device_bytes).empty()) {
      Row(kAlarm, "line across the memory bar: what a device has", {});
    }
    if (!overview_.bare) Row("", "coloured arrows: a collective changes the layout", {});
  }

  Canvas& canvas_;
  const Overview& overview_;
  const Rectangle place_;
  double top_;
};

}  // namespace

void AddBar(Canvas& canvas, const Rectangle& bar, const std::vector<BarPart>& parts, double whole) {
  if (whole <= 0) return;
  constexpr double kLeastWidth = 0.3;  // less cannot be seen
  double left = bar.left;
  for (const BarPart& part : parts) {
    const double width = std::min(bar.width * part.size / whole, bar.right() - left);
    if (width >= kLeastWidth)
      canvas.Box({left, bar.bottom, width, bar.height}, {part.colour, part.colour, 0.2}, part.tooltip);
    left += std::max(width, 0.0);
  }
}

void AddPanel(Canvas& canvas, const Overview& overview, const Rectangle& place) {
  Panel(canvas, overview, place).Draw();
}

}  // namespace sbp
