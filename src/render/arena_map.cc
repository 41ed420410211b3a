#include "render/arena_map.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "base/number_text.h"
#include "base/text.h"
#include "plan/physical_plan.h"
#include "plan/plan.h"
#include "render/dot.h"
#include "render/facts.h"
#include "render/palette.h"
#include "render/task_text.h"
#include "render/view.h"

namespace sbp {
namespace {

// In points.
constexpr double kWidth = 1100, kHeight = 620;     // of the map, for most plans
constexpr double kTaskWidth = 14, kWidest = 6000;  // long plans get wider maps
constexpr double kMargin = 70, kLegendRow = 22;
constexpr double kCharacter = 5.2, kLine = 11;  // of 9-point text
constexpr double kLeastArea = 1;                // below this nothing can be seen

struct Rectangle {
  double left = 0, bottom = 0, width = 0, height = 0;
};

class ArenaMap {
 public:
  ArenaMap(const Plan& plan, size_t max_nodes) : plan_(plan), physical_(*plan.physical), max_nodes_(max_nodes) {
    tasks_ = std::max<double>(1, static_cast<double>(physical_.tasks.size()));
    bytes_ = std::max<double>(1, static_cast<double>(physical_.arena_bytes));
    width_ = std::clamp(tasks_ * kTaskWidth, kWidth, kWidest);
  }

  std::string Draw() {
    out_ << "digraph arena {\n  graph [layout=nop2, bgcolor=\"#FFFFFF\", pad=0.3];\n"
         << "  node [shape=box, fixedsize=true, style=filled, fontname=\"Helvetica,Arial,sans-serif\", fontsize=9, "
            "penwidth=0.6];\n";
    AddText({0, kHeight + 26, width_, 40}, Title(), 12);
    AddBox({0, 0, width_, kHeight}, {"#FAFBFC", "#5B6577", "#2B2E34"}, "", "the arena");
    AddRegisters();
    AddBound();
    AddAxes();
    AddLegend();
    out_ << "}\n";
    return std::move(out_).str();
  }

 private:
  std::string Title() const {
    return StrCat(plan_.graph.name.empty() ? "graph" : plan_.graph.name, "  ·  ", PlanHeadline(plan_), "\n",
                  ArenaHeadline(physical_));
  }

  // From `first` to the end of `last`.
  Rectangle PlaceOf(const Register& reg) const {
    Rectangle place;
    place.left = static_cast<double>(reg.first) / tasks_ * width_;
    place.width = (static_cast<double>(reg.last) - reg.first + 1) / tasks_ * width_;
    place.bottom = static_cast<double>(reg.offset) / bytes_ * kHeight;
    place.height = static_cast<double>(reg.footprint()) / bytes_ * kHeight;
    return place;
  }

  void AddRegisters() {
    std::vector<uint32_t> shown;
    for (uint32_t r = 0; r < physical_.registers.size(); ++r) {
      const Rectangle place = PlaceOf(physical_.registers[r]);
      if (place.width * place.height >= kLeastArea) shown.push_back(r);
    }
    const auto area = [&](uint32_t r) {
      return PlaceOf(physical_.registers[r]).width * PlaceOf(physical_.registers[r]).height;
    };
    std::stable_sort(shown.begin(), shown.end(), [&](uint32_t a, uint32_t b) { return area(a) > area(b); });
    if (shown.size() > max_nodes_) shown.resize(max_nodes_);
    left_out_ = physical_.registers.size() - shown.size();
    for (const uint32_t r : shown) {
      const Register& reg = physical_.registers[r];
      const RegisterKind kind = KindOfRegister(plan_, reg);
      const Rectangle place = PlaceOf(reg);
      kinds_.emplace(kind.name, kind.paint);
      const std::string bytes = FormatBytes(static_cast<double>(reg.bytes));
      const auto letters = static_cast<size_t>(place.width / kCharacter);
      std::string label;
      if (letters >= 4 && place.height >= kLine) {
        const std::string name = Shorten(NameTail(plan_.graph.tensor(reg.tensor).name), letters);
        label = place.height >= 2 * kLine && bytes.size() <= letters ? StrCat(name, "\n", bytes) : name;
      }
      AddBox(place, kind.paint, label,
             StrCat("r", r, " ", plan_.graph.tensor(reg.tensor).name, " ", ToString(reg.layout), "\n", kind.name, ", ",
                    bytes, reg.copies > 1 ? StrCat(" x ", reg.copies) : "", " at ", reg.offset, "\ntasks ", reg.first,
                    " to ", reg.last, reg.over != kNoRegister ? StrCat("\nwritten over r", reg.over) : ""));
    }
  }

  void AddBound() {
    const double height = static_cast<double>(physical_.lower_bound_bytes) / bytes_ * kHeight;
    if (physical_.lower_bound_bytes >= physical_.arena_bytes) return;
    AddBox({0, height - 0.5, width_, 1}, {"#CC3333", "#CC3333", "#CC3333"}, "", "lower bound");
  }

  void AddAxes() {
    constexpr int kTicks = 10;
    for (int i = 0; i <= kTicks; ++i) {
      const double part = static_cast<double>(i) / kTicks;
      AddText({-kMargin, part * kHeight - kLine / 2, kMargin - 4, kLine}, FormatBytes(part * bytes_), 9);
    }
    const auto every = static_cast<size_t>(std::max(1.0, std::ceil(tasks_ * 40 / width_)));
    for (size_t t = 0; t < physical_.tasks.size(); t += every) {
      AddText({static_cast<double>(t) / tasks_ * width_, -kLine - 4, 30, kLine}, StrCat("t", t), 9);
    }
  }

  void AddLegend() {
    double left = 0;
    for (const auto& [name, paint] : kinds_) {
      const double width = static_cast<double>(name.size()) * 6 + 24;
      AddBox({left, -kMargin, width, kLegendRow}, paint, name, name);
      left += width + 8;
    }
    std::string note = "height: bytes of the arena; width: from the task that writes until all that read have ended";
    if (left_out_ > 0) note += StrCat("; ", left_out_, " small registers are left out");
    AddText({0, -kMargin - kLegendRow, width_, kLegendRow - 6}, note, 9);
  }

  void AddText(const Rectangle& place, const std::string& text, int size) {
    AddNode(place,
            StrCat("label=", QuoteDot(text), ", style=solid, shape=plaintext, fontsize=", size, ", tooltip=\"\""));
  }

  void AddBox(const Rectangle& place, const Paint& paint, const std::string& label, const std::string& tooltip) {
    AddNode(place, StrCat("label=", QuoteDot(label), ", fillcolor=\"", paint.fill, "\", color=\"", paint.line,
                          "\", fontcolor=\"", paint.text, "\", tooltip=", QuoteDot(tooltip)));
  }

  // Graphviz wants the middle in points and sizes in inches.
  void AddNode(const Rectangle& place, const std::string& attributes) {
    constexpr double kInch = 72;
    const auto number = [](double value) { return FormatDouble(std::round(value * 100) / 100); };
    const auto inches = [](double value) { return FormatDouble(std::round(value / kInch * 10000) / 10000); };
    out_ << "  n" << nodes_++ << " [pos=\"" << number(place.left + place.width / 2) << ","
         << number(place.bottom + place.height / 2) << "\", width=" << inches(std::max(place.width, 0.5))
         << ", height=" << inches(std::max(place.height, 0.5)) << ", " << attributes << "];\n";
  }

  const Plan& plan_;
  const PhysicalPlan& physical_;
  const size_t max_nodes_;
  double tasks_ = 1, bytes_ = 1, width_ = kWidth;
  std::map<std::string, Paint> kinds_;
  size_t left_out_ = 0, nodes_ = 0;
  PlainStream out_;
};

}  // namespace

Result<std::string> DrawArena(const Plan& plan, const RenderOptions& options) {
  if (!plan.physical) return NoTasks();
  return ArenaMap(plan, std::clamp<size_t>(options.max_nodes * 4, 100, 5000)).Draw();
}

}  // namespace sbp
