#include "render/arena_map.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/ids.h"
#include "base/text.h"
#include "graph/kept.h"
#include "graph/phases.h"
#include "plan/physical_plan.h"
#include "plan/plan.h"
#include "render/arena_stacks.h"
#include "render/canvas.h"
#include "render/facts.h"
#include "render/overview.h"
#include "render/palette.h"
#include "render/task_text.h"
#include "render/text_width.h"
#include "render/view.h"

namespace sbp {
namespace {

// In points.
constexpr double kMapHeight = 560, kNarrowest = 1120, kWidest = 2400;
constexpr double kTaskWidth = 6;  // of a plan without repeated layers; one with them is as wide as a screen
constexpr double kMargin = 64, kMapLegendRow = 18;
constexpr double kMapLine = 11;   // of text within the map
constexpr double kLeastArea = 1;  // below this nothing can be seen
// What all folded tasks together take beside those that are shown.
constexpr double kFoldedShare = 0.5;
constexpr std::string_view kMapText = "#2B2E34", kFoldedColour = "#4B5BD6", kBoundColour = "#CC3333";

// Tasks from left to right, those of repeated layers but for the first of each narrower.
class TaskAxis {
 public:
  explicit TaskAxis(const Plan& plan) : plan_(plan), physical_(*plan.physical) {
    const size_t tasks = physical_.tasks.size();
    const auto parts = ChooseParts(plan, std::vector<double>(plan.graph.ops.size(), 1), {});
    if (parts.ok()) parts_ = *parts;  // without patterns nothing can fail
    part_of_.assign(plan.graph.ops.size(), -1);
    for (size_t p = 0; p < parts_.parts.size(); ++p) {
      for (const uint32_t o : parts_.parts[p].ops) part_of_[o] = static_cast<int32_t>(p);
    }
    for (const Task& task : physical_.tasks) folded_ += IsFolded(task) ? 1 : 0;
    const auto shown = static_cast<double>(tasks - folded_), folded = static_cast<double>(folded_);
    const double narrow = folded > 0 ? std::min(1.0, kFoldedShare * std::max(shown, 1.0) / folded) : 1;
    double at = 0;
    for (const Task& task : physical_.tasks) {
      lefts_.push_back(at);
      at += IsFolded(task) ? narrow : 1;
    }
    lefts_.push_back(at);
    width_ = std::clamp(at * kTaskWidth, kNarrowest, folded_ > 0 ? kNarrowest : kWidest);
    for (double& left : lefts_) left *= width_ / std::max(at, 1.0);
  }

  double width() const { return width_; }
  size_t folded() const { return folded_; }
  // Of the beginning of a task; the number of tasks: of the end.
  double Left(size_t task) const { return lefts_[std::min(task, lefts_.size() - 1)]; }

  // Neighbours of one part of the model.
  struct Section {
    size_t first = 0, end = 0;  // tasks
    std::string name;
    bool folded = false;
  };
  std::vector<Section> Sections() const {
    std::vector<Section> sections;
    std::tuple<Phase, int32_t, bool> last;
    const bool training = HasBackward(plan_.graph);
    for (size_t t = 0; t < physical_.tasks.size(); ++t) {
      const OpId op = OpOf(physical_.tasks[t]);
      const Phase phase = training && op.valid() ? PhaseOf(plan_.graph, plan_.graph.op(op)) : Phase::kForward;
      const bool folded = IsFolded(physical_.tasks[t]);
      const int32_t part = op.valid() && !folded && phase == Phase::kForward ? part_of_[op.index()] : -1;
      if (sections.empty() || last != std::tuple(phase, part, folded)) {
        last = {phase, part, folded};
        const std::string name = part >= 0 ? parts_.parts[part].title : std::string(PhaseName(phase));
        sections.push_back({t, t, folded ? StrCat("equal layers", training ? StrCat(", ", name) : "") : name, folded});
      }
      sections.back().end = t + 1;
    }
    return sections;
  }

 private:
  OpId OpOf(const Task& task) const {
    OpId op = task.op;
    if (!op.valid() && task.transition >= 0 && static_cast<size_t>(task.transition) < plan_.transitions.size()) {
      const Transition& transition = plan_.transitions[task.transition];
      op = transition.consumers.empty() ? plan_.graph.tensor(transition.tensor).producer : transition.consumers[0].op;
    }
    return op.valid() && op.index() < plan_.graph.ops.size() ? op : OpId();
  }
  bool IsFolded(const Task& task) const {
    const OpId op = OpOf(task);
    return op.valid() && op.index() < parts_.stand_in.size() && parts_.stand_in[op.index()] != op.value;
  }

  const Plan& plan_;
  const PhysicalPlan& physical_;
  OverviewParts parts_;
  std::vector<int32_t> part_of_;  // per op of a first copy
  std::vector<double> lefts_;
  size_t folded_ = 0;
  double width_ = kNarrowest;
};

class ArenaMap {
 public:
  ArenaMap(const Plan& plan, size_t max_nodes)
      : plan_(plan), physical_(*plan.physical), max_nodes_(max_nodes), axis_(plan) {
    bytes_ = std::max<double>(1, static_cast<double>(physical_.arena_bytes));
  }

  std::string Draw() {
    canvas_.Text({0, kMapHeight + 52, axis_.width(), 20}, TitleOf(plan_).front(), {15, true, kMapText});
    canvas_.Text({0, kMapHeight + 38, axis_.width(), 14}, PlanHeadline(plan_), {10, false, kMapText});
    canvas_.Text({0, kMapHeight + 24, axis_.width(), 14}, ArenaHeadline(physical_), {10, false, kMapText});
    canvas_.Box({0, 0, axis_.width(), kMapHeight}, {"#FAFBFC", "#5B6577"}, "the arena");
    AddSections();
    AddRegisters();
    AddBound();
    AddAxes();
    AddLegend();
    return canvas_.Write("arena");
  }

 private:
  // From `first` to the end of `last`.
  Rectangle PlaceOf(const Register& reg) const {
    Rectangle place;
    place.left = axis_.Left(reg.first);
    place.width = axis_.Left(static_cast<size_t>(reg.last) + 1) - place.left;
    place.bottom = static_cast<double>(reg.offset) / bytes_ * kMapHeight;
    place.height = static_cast<double>(reg.footprint()) / bytes_ * kMapHeight;
    return place;
  }

  static double LeastWidth(const TaskAxis::Section& section) {
    constexpr double kLeastTitle = 60;
    return std::min(RoomFor(section.name, 8, section.folded), kLeastTitle);
  }

  // Neighbours that are too narrow for their names are one band, with the names that it has room for.
  void AddSections() {
    std::vector<TaskAxis::Section> narrow;
    const auto flush = [&] {
      if (!narrow.empty()) AddHead(Together(narrow));
      narrow.clear();
    };
    for (const TaskAxis::Section& section : axis_.Sections()) {
      constexpr double kLeastShade = 5;
      const double left = axis_.Left(section.first), width = axis_.Left(section.end) - left;
      if (section.folded && width >= kLeastShade) {
        canvas_.Box({left, 0, width, kMapHeight}, {"#F0F1FB", "#D6DAF5", 0.3}, section.name);
      }
      if (width < LeastWidth(section)) {
        narrow.push_back(section);
        continue;
      }
      flush();
      AddHead(section);
    }
    flush();
  }

  // The names of the widest of them come first.
  TaskAxis::Section Together(const std::vector<TaskAxis::Section>& sections) const {
    std::map<std::string, double> widths;
    bool folded = true;
    for (const TaskAxis::Section& section : sections) {
      widths[section.name] += axis_.Left(section.end) - axis_.Left(section.first);
      folded = folded && section.folded;
    }
    std::vector<std::pair<std::string, double>> order(widths.begin(), widths.end());
    std::ranges::stable_sort(order, std::ranges::greater(), [](const auto& row) { return row.second; });
    TaskAxis::Section all{sections.front().first, sections.back().end, order.front().first, folded};
    const double room = axis_.Left(all.end) - axis_.Left(all.first);
    for (size_t i = 1; i < order.size(); ++i) {
      const std::string more = StrCat(all.name, ", ", order[i].first);
      if (RoomFor(more, 8, folded) > room) break;
      all.name = more;
    }
    return all;
  }

  void AddHead(const TaskAxis::Section& section) {
    constexpr double kLeastHead = 5, kLeastCut = 30;
    const double left = axis_.Left(section.first), width = axis_.Left(section.end) - left;
    if (width < kLeastHead) return;
    const Rectangle head = {left, kMapHeight + 3, width, 15};
    canvas_.Box(head, {section.folded ? "#E4E7FA" : "#F1F5FA", section.folded ? "#A9B2EC" : "#B9C3D3"},
                StrCat(section.name, ", ", section.end - section.first, " tasks"));
    // Of the name of a very narrow band nothing is left that says something.
    const double least = std::min(RoomFor(section.name, 8, section.folded), kLeastCut);
    const std::string_view colour = section.folded ? kFoldedColour : "#5B6577";
    if (width >= least) canvas_.Text(head, section.name, {8, section.folded, colour, TextAlign::kCentre});
  }

  void AddRegisters() {
    std::vector<uint32_t> shown;
    const auto area = [&](uint32_t r) {
      const Rectangle place = PlaceOf(physical_.registers[r]);
      return place.width * place.height;
    };
    for (uint32_t r = 0; r < physical_.registers.size(); ++r) {
      if (area(r) >= kLeastArea) shown.push_back(r);
    }
    std::stable_sort(shown.begin(), shown.end(), [&](uint32_t a, uint32_t b) { return area(a) > area(b); });
    if (shown.size() > max_nodes_) shown.resize(max_nodes_);
    left_out_ = physical_.registers.size() - shown.size();
    std::vector<Rectangle> places;
    for (const uint32_t r : shown) places.push_back(PlaceOf(physical_.registers[r]));
    for (size_t i = 0; i < shown.size(); ++i) AddRegister(shown[i], places[i]);
    // Above all boxes; what is seen of each is what those that are drawn later leave.
    for (size_t i = 0; i < shown.size(); ++i) {
      if (HasRoom(places[i])) AddLabel(shown[i], VisiblePart(places[i], std::span(places).subspan(i + 1)));
    }
    AddStacks(shown, places);
  }

  // One name for many thin registers that lie on each other, as those of equal layers do: where there is room for most
  // names, then, of what is left, for a few letters.
  void AddStacks(std::vector<uint32_t> shown, std::vector<Rectangle> places) {
    for (const double least_width : {240.0, 120.0}) {
      std::vector<uint32_t> thin;
      std::vector<Rectangle> thin_places;
      for (size_t i = 0; i < shown.size(); ++i) {
        if (HasRoom(places[i])) continue;
        thin.push_back(shown[i]);
        thin_places.push_back(places[i]);
      }
      for (const Stack& stack : FindStacks(thin_places, least_width, kMapLine + 2)) {
        AddStackLabel(stack, thin);
        for (const uint32_t i : stack.members) thin_places[i].height = 0;
      }
      shown.clear();
      places.clear();
      for (size_t i = 0; i < thin.size(); ++i) {
        if (thin_places[i].height <= 0) continue;
        shown.push_back(thin[i]);
        places.push_back(thin_places[i]);
      }
    }
  }

  static bool Overlap(const Rectangle& a, const Rectangle& b) {
    return a.left < b.right() && b.left < a.right() && a.bottom < b.top() && b.bottom < a.top();
  }

  // On paper of its own, as fine lines run below it. `registers`: of the stack's members.
  void AddStackLabel(const Stack& stack, const std::vector<uint32_t>& registers) {
    constexpr double kPaperHeight = kMapLine + 1;
    std::vector<NamedBytes> all;
    double bytes = 0;
    for (const uint32_t i : stack.members) {
      const Register& reg = physical_.registers[registers[i]];
      all.push_back({plan_.graph.tensor(reg.tensor).name, static_cast<double>(reg.footprint())});
      bytes += all.back().bytes;
    }
    const std::string text = StrCat(FormatBytes(bytes), ": ", NamesTogether(all));
    const Rectangle& place = stack.place;
    const double width = std::min(place.width - 4, RoomFor(text, 8.5, false) + 8);
    const Rectangle paper = {place.left + (place.width - width) / 2, place.middle() - kPaperHeight / 2, width,
                             kPaperHeight};
    // Registers that are written over others lie where these do.
    if (std::ranges::any_of(papers_, [&](const Rectangle& other) { return Overlap(paper, other); })) return;
    papers_.push_back(paper);
    canvas_.Box(paper, {"#FFFFFF", "#B9C3D3", 0.4}, text);
    canvas_.Text({paper.left + 2, paper.bottom, width - 4, kPaperHeight}, text,
                 {8.5, false, kMapText, TextAlign::kCentre});
  }

  // The largest part of `place` that lies left of, right of, below or above each of those that are drawn over it.
  static Rectangle VisiblePart(Rectangle place, std::span<const Rectangle> later) {
    constexpr double kOverlap = 1;  // in points; less does not hide a letter
    for (const Rectangle& over : later) {
      if (over.left >= place.right() - kOverlap || over.right() <= place.left + kOverlap ||
          over.bottom >= place.top() - kOverlap || over.top() <= place.bottom + kOverlap) {
        continue;
      }
      const std::array<Rectangle, 4> parts = {{
          {place.left, place.bottom, over.left - place.left, place.height},
          {over.right(), place.bottom, place.right() - over.right(), place.height},
          {place.left, place.bottom, place.width, over.bottom - place.bottom},
          {place.left, over.top(), place.width, place.top() - over.top()},
      }};
      place = *std::ranges::max_element(
          parts, {}, [](const Rectangle& part) { return std::max(part.width, 0.0) * std::max(part.height, 0.0); });
    }
    return place;
  }

  void AddRegister(uint32_t r, const Rectangle& place) {
    const Register& reg = physical_.registers[r];
    const RegisterKind kind = KindOfRegister(plan_, reg);
    kinds_.emplace(kind.name, kind.paint);
    const std::string bytes = FormatBytes(static_cast<double>(reg.bytes)), &name = plan_.graph.tensor(reg.tensor).name;
    // Thin ones with a fine outline: many beside each other would be nothing but outlines.
    const bool thin = std::min(place.width, place.height) < 2.5;
    canvas_.Box(place, {kind.paint.fill, kind.paint.line, thin ? 0.12 : 0.6},
                StrCat("r", r, " ", name, " ", ToString(reg.layout), "\n", kind.name, ", ", bytes,
                       reg.copies > 1 ? StrCat(" x ", reg.copies) : "", " at ", reg.offset, "\ntasks ", reg.first,
                       " to ", reg.last, reg.over != kNoRegister ? StrCat("\nwritten over r", reg.over) : ""));
  }

  static bool HasRoom(const Rectangle& place) { return place.width >= 24 && place.height >= kMapLine; }

  void AddLabel(uint32_t r, const Rectangle& place) {
    const Register& reg = physical_.registers[r];
    const RegisterKind kind = KindOfRegister(plan_, reg);
    const std::string bytes = FormatBytes(static_cast<double>(reg.bytes)), &name = plan_.graph.tensor(reg.tensor).name;
    if (!HasRoom(place)) return;
    const double inner = place.width - 4;
    const TextStyle style = {8.5, false, kind.paint.text, TextAlign::kCentre};
    const double half = place.height >= 2 * kMapLine ? kMapLine / 2 : 0;
    const double middle = place.middle() - kMapLine / 2;
    canvas_.Text({place.left + 2, middle + half, inner, kMapLine}, NameTail(name), style);
    if (half > 0) canvas_.Text({place.left + 2, middle - half, inner, kMapLine}, bytes, style);
  }

  void AddBound() {
    if (physical_.lower_bound_bytes >= physical_.arena_bytes) return;
    const double height = static_cast<double>(physical_.lower_bound_bytes) / bytes_ * kMapHeight;
    canvas_.Line({{0, height}, {axis_.width(), height}}, {kBoundColour, 1}, "lower bound");
  }

  void AddAxes() {
    constexpr int kTicks = 10;
    for (int i = 0; i <= kTicks; ++i) {
      const double part = static_cast<double>(i) / kTicks;
      canvas_.Text({-kMargin, part * kMapHeight - kMapLine / 2, kMargin - 4, kMapLine}, FormatBytes(part * bytes_),
                   {8.5, false, kMapText, TextAlign::kRight});
    }
    constexpr double kApart = 44;
    double next = 0;
    for (size_t t = 0; t < physical_.tasks.size(); ++t) {
      if (axis_.Left(t) < next) continue;
      next = axis_.Left(t) + kApart;
      canvas_.Line({{axis_.Left(t), -3}, {axis_.Left(t), 0}}, {"#5B6577", 0.6});
      canvas_.Text({axis_.Left(t), -kMapLine - 4, kApart - 4, kMapLine}, StrCat("t", t), {8, false, kMapText});
    }
  }

  void AddLegend() {
    double left = 0;
    double bottom = -kMargin + 20;
    for (const auto& [name, paint] : kinds_) {
      const double width = 20 + RoomOf(name);
      if (left + width > axis_.width()) {
        left = 0;
        bottom -= kMapLegendRow;
      }
      canvas_.Box({left, bottom + 4, 10, 10}, {paint.fill, paint.line});
      canvas_.Text({left + 14, bottom, width - 14, kMapLegendRow}, name, {9, false, kMapText});
      left += width + 10;
    }
    if (physical_.lower_bound_bytes < physical_.arena_bytes) {
      const std::string words = "red line: lower bound, below which no arena can be";
      if (left + 20 + RoomOf(words) > axis_.width()) {
        left = 0;
        bottom -= kMapLegendRow;
      }
      canvas_.Box({left, bottom + 8, 10, 2}, {kBoundColour, kBoundColour});
      canvas_.Text({left + 14, bottom, 6 + RoomOf(words), kMapLegendRow}, words, {9, false, kMapText});
    }
    std::string note = "height: bytes of the arena; width: from the task that writes until all that read have ended";
    if (axis_.folded() > 0) {
      note += StrCat("; ", axis_.folded(), " tasks of layers that equal the one shown are narrower");
    }
    if (left_out_ > 0) note += StrCat("; ", left_out_, " small registers are left out");
    canvas_.Text({0, bottom - kMapLegendRow, axis_.width(), kMapLegendRow}, note, {9, false, kMapText});
  }

  static double RoomOf(const std::string& name) { return RoomFor(name, 9, false) + 1; }

  const Plan& plan_;
  const PhysicalPlan& physical_;
  const size_t max_nodes_;
  const TaskAxis axis_;
  double bytes_ = 1;
  std::map<std::string, Paint> kinds_;
  std::vector<Rectangle> papers_;  // under names of stacks
  size_t left_out_ = 0;
  Canvas canvas_;
};

}  // namespace

Result<std::string> DrawArena(const Plan& plan, const RenderOptions& options) {
  if (!plan.physical) return NoTasks();
  return ArenaMap(plan, std::clamp<size_t>(options.max_nodes * 4, 100, 5000)).Draw();
}

}  // namespace sbp
