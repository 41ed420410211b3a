// Left the parts of the model from top to bottom, forward beside backward, with bars of their time; right what the
// whole step takes: time, collectives, memory.
#include "render/overview_map.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "cluster/collective_kind.h"
#include "cost/collective.h"
#include "graph/phases.h"
#include "render/canvas.h"
#include "render/facts.h"
#include "render/overview.h"
#include "render/overview_panel.h"
#include "render/palette.h"
#include "render/text_width.h"

namespace sbp {
namespace {

// In points.
constexpr double kScreenWidth = 1190, kScreenHeight = 742;
constexpr double kPanelLeft = 838, kPanelWidth = 344;
constexpr double kRowsTop = kScreenHeight - 96, kRowsBottom = 30;
constexpr double kLanesLeft = 14, kBoxesLeft = 116, kBoxesRight = 812, kBetweenPasses = 58;
constexpr double kFrameHead = 17, kFrameFoot = 6, kFramePad = 7;
constexpr double kLeastRow = 15, kMostRow = 62;
constexpr double kWarningSize = 9, kEndsSize = 8.5, kFlowSize = 7.5, kLeastGapForText = 9;

constexpr std::string_view kTitleText = "#1F2733", kFlowText = "#5B6577", kRepeatColour = "#4B5BD6",
                           kFlowLine = "#5B6577", kWarningText = "#8A6D1D";

class OverviewMap {
 public:
  explicit OverviewMap(const Overview& overview) : overview_(overview) {
    for (const OverviewRow& row : overview.rows) {
      longest_ = std::max({longest_, Size(row.forward), Size(row.backward)});
    }
    longest_ = std::max({longest_, Size(overview.optimizer), 1e-12});
    total_ = overview.bare ? 0 : overview.compute_seconds + overview.collective_seconds;
    if (overview.bare) {
      for (const OverviewRow& row : overview.rows) total_ += Size(row.forward) + Size(row.backward);
    }
    total_ = std::max(total_, 1e-12);
    PlaceRows();
  }

  std::string Draw() {
    canvas_.Box({0, 0, kScreenWidth, kScreenHeight}, {"#FFFFFF", "#FFFFFF"});
    AddHead();
    for (size_t f = 0; f < overview_.frames.size(); ++f) AddFrame(f);
    for (size_t r = 0; r < overview_.rows.size(); ++r) AddRow(r);
    if (overview_.optimizer.ops > 0) AddOptimizer();
    AddFlows();
    AddEnds();
    AddPanel(canvas_, overview_, {kPanelLeft, kRowsBottom, kPanelWidth, kScreenHeight - 40 - kRowsBottom});
    return canvas_.Write("overview");
  }

 private:
  // What a bar shows: seconds, of a graph without a plan ops.
  double Size(const OverviewWork& work) const {
    return overview_.bare ? static_cast<double>(work.ops) : work.seconds();
  }

  size_t Depth(int32_t frame) const {
    size_t depth = 0;
    for (; frame >= 0; frame = overview_.frames[frame].parent) ++depth;
    return depth;
  }

  // From the top; a frame takes a line above its first row and a little below its last one.
  void PlaceRows() {
    const size_t rows = std::max<size_t>(overview_.rows.size(), 1);
    const double heads = overview_.optimizer.ops > 0 ? 1 : 0;
    const double frames = static_cast<double>(overview_.frames.size()) * (kFrameHead + kFrameFoot);
    pitch_ = (kRowsTop - kRowsBottom - frames) / (static_cast<double>(rows) + heads);
    pitch_ = std::clamp(pitch_, kLeastRow, kMostRow);
    gap_ = std::clamp(pitch_ * 0.34, 3.0, 20.0);
    double top = kRowsTop - heads * pitch_;
    frame_top_.assign(overview_.frames.size(), 0);
    frame_bottom_.assign(overview_.frames.size(), 0);
    for (size_t r = 0; r < overview_.rows.size(); ++r) {
      top -= gap_;
      for (size_t f = 0; f < overview_.frames.size(); ++f) {
        if (overview_.frames[f].first != r) continue;
        frame_top_[f] = top;
        top -= kFrameHead;
      }
      row_top_.push_back(top);
      top -= pitch_ - gap_;
      for (size_t f = overview_.frames.size(); f-- > 0;) {
        if (overview_.frames[f].last != r) continue;
        top -= kFrameFoot;
        frame_bottom_[f] = top;
      }
    }
  }

  Rectangle BoxOf(size_t row, Phase phase) const { return ColumnBox(row_top_[row], phase); }
  Rectangle ColumnBox(double top, Phase phase) const {
    const double height = pitch_ - gap_;
    if (!overview_.training) return {kBoxesLeft, top - height, kBoxesRight - kBoxesLeft, height};
    const double width = (kBoxesRight - kBoxesLeft - kBetweenPasses) / 2;
    return {phase == Phase::kForward ? kBoxesLeft : kBoxesRight - width, top - height, width, height};
  }

  void AddHead() {
    double top = kScreenHeight - 8;
    for (size_t i = 0; i < overview_.title.size(); ++i) {
      const double height = i == 0 ? 24 : 15;
      canvas_.Text({kLanesLeft, top - height, i == 0 ? kPanelLeft - kLanesLeft : kScreenWidth - 2 * kLanesLeft, height},
                   overview_.title[i], {i == 0 ? 17.0 : 10.5, i == 0, kTitleText});
      top -= height;
    }
    if (!overview_.warnings.empty()) {
      const size_t more = overview_.warnings.size() - 1;
      const std::string others = more > 0 ? StrCat(" (and ", more, " more)") : "";
      const double width = kPanelLeft - kLanesLeft, room = width - RoomFor(others, kWarningSize, false);
      const std::string first = StrCat("warning: ", overview_.warnings.front());
      canvas_.Text({kLanesLeft, top - 13, width, 13}, FitText(first, room, kWarningSize, false) + others,
                   {kWarningSize, false, kWarningText});
    }
    if (!overview_.training) return;
    for (const Phase phase : {Phase::kForward, Phase::kBackward}) {
      Rectangle place = ColumnBox(kRowsTop + 14, phase);
      place.bottom = kRowsTop + 3;
      place.height = 14;
      double seconds = 0;
      for (const OverviewRow& row : overview_.rows)
        seconds += Size(phase == Phase::kForward ? row.forward : row.backward);
      canvas_.Text(place,
                   StrCat(phase == Phase::kForward ? "forward ↓" : "backward ↑", overview_.bare ? "" : "   ",
                          overview_.bare ? "" : Taken(seconds)),
                   {11, true, PaintOf(phase).text});
    }
  }

  // "4.2 ms · 45 %"; of a graph without a plan "120 ops".
  std::string Taken(double size) const {
    if (overview_.bare) return StrCat(FormatCount(static_cast<int64_t>(size)), size == 1 ? " op" : " ops");
    const double share = 100 * size / total_;
    const std::string percent = share > 0 && share < 1 ? "< 1" : FormatDouble(std::round(share));
    return StrCat(FormatSeconds(size), " · ", percent, " %");
  }

  void AddFrame(size_t f) {
    const OverviewFrame& frame = overview_.frames[f];
    const double pad =
        kFramePad * static_cast<double>(std::max<size_t>(4 - std::min<size_t>(Depth(static_cast<int32_t>(f)), 3), 1)) /
        2;
    const double left = kBoxesLeft - pad, right = kBoxesRight + pad;
    const FramePaint paint = PaintOf(Phase::kForward);
    canvas_.Box({left, frame_bottom_[f], right - left, frame_top_[f] - frame_bottom_[f]},
                {paint.fills[Depth(static_cast<int32_t>(f)) % 3], kRepeatColour, 1.4, true}, frame.label);
    double sum = 0;
    for (size_t r = frame.first; r <= frame.last; ++r)
      sum += Size(overview_.rows[r].forward) + Size(overview_.rows[r].backward);
    constexpr double kBesideArrow = 36;
    const Rectangle head = {kBoxesLeft + kBesideArrow, frame_top_[f] - kFrameHead,
                            kBoxesRight - kBoxesLeft - kBesideArrow - 4, kFrameHead};
    const std::string times = StrCat("× ", frame.copies);
    const double taken_by_times = RoomFor(times, 12, true) + 5;
    canvas_.Text({head.left, head.bottom, taken_by_times, head.height}, times, {12, true, kRepeatColour});
    canvas_.Text({head.left + taken_by_times, head.bottom, head.width * 0.6 - taken_by_times, head.height}, frame.label,
                 {10, true, paint.text});
    std::string note = Taken(sum);
    if (!overview_.bare) note += StrCat(", each ", FormatSeconds(sum / static_cast<double>(frame.copies)));
    canvas_.Text({head.left + head.width * 0.6, head.bottom, head.width * 0.4, head.height}, note,
                 {9, false, paint.text, TextAlign::kRight});
  }

  void AddRow(size_t r) {
    const OverviewRow& row = overview_.rows[r];
    // Two columns have no room for types of ops.
    std::string detail = overview_.training && row.part_ops > 1 ? StrCat(row.part_ops, " ops") : row.detail;
    if (row.parameter_bytes > 0) {
      detail += StrCat(" · ", FormatBytes(static_cast<double>(row.parameter_bytes)), " parameters");
    }
    AddWork(BoxOf(r, Phase::kForward), row.forward, row.title, row.copies, detail, row.path);
    if (!overview_.training || row.backward.ops == 0) return;
    const Rectangle box = BoxOf(r, Phase::kBackward);
    AddWork(box, row.backward, row.title, row.copies,
            StrCat(FormatCount(static_cast<int64_t>(row.backward.ops)), row.backward.ops == 1 ? " op" : " ops",
                   row.frame >= 0 || row.copies > 1 ? " in all copies" : ""),
            row.path);
    if (row.kept_bytes <= 0) return;
    const Rectangle from = BoxOf(r, Phase::kForward);
    canvas_.Line({{from.right(), from.middle()}, {box.left - 1, box.middle()}}, {kKeptColour, 1.2, true, true},
                 "kept for the backward pass, bytes on each device");
    canvas_.Text({from.right() + 2, from.middle() + 1, box.left - from.right() - 4, 10},
                 FormatBytes(static_cast<double>(row.kept_bytes)), {7.5, false, kKeptColour, TextAlign::kCentre});
  }

  void AddOptimizer() {
    Rectangle box = ColumnBox(kRowsTop, Phase::kBackward);
    const std::string detail = overview_.states.empty()
                                   ? StrCat(FormatCount(static_cast<int64_t>(overview_.optimizer.ops)), " ops")
                                   : overview_.states;
    AddWork(box, overview_.optimizer, "optimizer", 1, detail, "");
    const auto last = std::ranges::find_if(overview_.rows, [](const OverviewRow& row) { return row.backward.ops > 0; });
    if (last == overview_.rows.end()) return;
    const double x = box.left + 24;
    canvas_.Line({{x, row_top_[last - overview_.rows.begin()]}, {x, box.bottom - 1}},
                 {PaintOf(Phase::kOptimizer).strong, 1.6, true});
    if (gap_ >= kLeastGapForText) {
      canvas_.Text({x + 8, box.bottom - gap_, box.width - 40, gap_},
                   StrCat("gradients, ", FormatBytes(overview_.gradient_bytes)), {kFlowSize, false, kFlowText});
    }
  }

  void AddWork(const Rectangle& box, const OverviewWork& work, const std::string& title, int64_t copies,
               const std::string& detail, const std::string& path) {
    const Paint paint = PaintOf(work.sharing);
    canvas_.Box(box, {paint.fill, paint.line, 0.9, true}, path);
    const double inner = box.left + 7, text = box.width * 0.58 - 10, bars = box.width * 0.42 - 7;
    const double bars_left = box.right() - 7 - bars;
    const bool two_lines = box.height >= 22;
    const Rectangle line = {inner, two_lines ? box.middle() - 1 : box.bottom, text, two_lines ? 13 : box.height};
    const std::string times = copies > 1 ? StrCat("× ", copies) : "";
    const double taken_by_times = times.empty() ? 0 : RoomFor(times, 11, true) + 4;
    canvas_.Text({line.left, line.bottom, taken_by_times, line.height}, times, {11, true, kRepeatColour});
    canvas_.Text({line.left + taken_by_times, line.bottom, text - taken_by_times, line.height}, title,
                 {9.5, true, paint.text});
    if (two_lines) canvas_.Text({inner, box.middle() - 12, text, 11}, detail, {8, false, paint.text});
    const double height = two_lines ? 7 : std::min(7.0, box.height - 4);
    const Rectangle bar = {bars_left, box.middle() - (two_lines ? height + 1.5 : height / 2),
                           two_lines ? bars : bars * 0.5, height};
    const Rectangle taken = two_lines ? Rectangle{bars_left, box.middle() - 1, bars, 13}
                                      : Rectangle{bars_left + bars * 0.5 + 4, box.bottom, bars * 0.5 - 4, box.height};
    canvas_.Text(taken, Taken(Size(work)), {9, false, paint.text, two_lines ? TextAlign::kLeft : TextAlign::kRight});
    canvas_.Box(bar, {"#FFFFFF", "#D5DAE2", 0.4});
    std::vector<BarPart> parts;
    if (overview_.bare) {
      parts.push_back({Size(work), kComputeColour, ""});
    } else {
      parts.push_back({work.compute_seconds, kComputeColour, StrCat("compute ", FormatSeconds(work.compute_seconds))});
      for (const auto& [kind, seconds] : work.collective_seconds) {
        parts.push_back({seconds, PaintOf(kind).fill, StrCat(CollectiveKindName(kind), " ", FormatSeconds(seconds))});
      }
    }
    AddBar(canvas_, bar, parts, longest_);
  }

  // "(S(0), B) · 33.6 MB", and what is done to it.
  static std::string Words(const OverviewFlow& flow) {
    std::string words = flow.layout;
    if (flow.boxed) words += StrCat(" ", CollectiveKindName(flow.collective));
    words += StrCat(words.empty() ? "" : " · ", FormatBytes(flow.bytes));
    if (flow.tensors > 1) words += StrCat(", ", flow.tensors - 1, " more");
    return words;
  }

  static LineStyle StyleOf(const OverviewFlow& flow) {
    const double pen = std::clamp(0.8 + 0.3 * (std::log10(std::max(flow.bytes, 1.0)) - 3), 0.8, 2.6);
    return {flow.boxed ? PaintOf(flow.collective).line : kFlowLine, pen, true};
  }

  // Between neighbours straight; further ones in lanes at the left, the largest first. In the backward pass neighbours
  // only: the others mirror the forward pass.
  void AddFlows() {
    std::vector<std::string> words(overview_.rows.size());
    std::vector<const OverviewFlow*> far;
    for (const OverviewFlow& flow : overview_.flows) {
      if (flow.phase == Phase::kBackward) {
        if (flow.from > flow.to && AreNeighboursInBackward(flow)) AddUp(flow);
      } else if (flow.to == flow.from + 1) {
        AddDown(flow);
        words[flow.to] = Words(flow);
      } else if (flow.to > flow.from) {
        far.push_back(&flow);
      }
    }
    std::ranges::stable_sort(far, [](const OverviewFlow* a, const OverviewFlow* b) { return a->bytes > b->bytes; });
    constexpr size_t kMostFar = 24;
    far.resize(std::min(far.size(), kMostFar));
    for (const OverviewFlow* flow : far) {
      const std::string more = StrCat("from ", Shorten(overview_.rows[flow->from].title, 24), ": ", Words(*flow));
      std::string& text = words[flow->to];
      const std::string longer = StrCat(text, text.empty() ? "" : "    ", more);
      if (text.empty() || RoomFor(longer, kFlowSize, false) < WordsWidth()) text = longer;
    }
    AddFar(far);
    if (gap_ < kLeastGapForText) return;
    for (size_t r = 0; r < words.size(); ++r) {
      canvas_.Text({BoxOf(r, Phase::kForward).left + 32, Above(r), WordsWidth(), gap_}, words[r],
                   {kFlowSize, false, kFlowText});
    }
  }

  double WordsWidth() const { return ColumnBox(0, Phase::kForward).width - 36; }
  // The lower end of the gap above a row, and above the frames that begin there.
  double Above(size_t row) const {
    double above = BoxOf(row, Phase::kForward).top();
    for (const OverviewFrame& frame : overview_.frames) above += frame.first == row ? kFrameHead : 0;
    return above;
  }

  bool AreNeighboursInBackward(const OverviewFlow& flow) const {
    const auto begin = overview_.rows.begin() + static_cast<ptrdiff_t>(flow.to) + 1;
    return std::none_of(begin, overview_.rows.begin() + static_cast<ptrdiff_t>(flow.from),
                        [](const OverviewRow& row) { return row.backward.ops > 0; });
  }

  void AddDown(const OverviewFlow& flow) {
    const Rectangle from = BoxOf(flow.from, Phase::kForward), to = BoxOf(flow.to, Phase::kForward);
    canvas_.Line({{from.left + 24, from.bottom}, {from.left + 24, to.top() + 0.5}}, StyleOf(flow), Words(flow));
  }
  void AddUp(const OverviewFlow& flow) {
    const Rectangle from = BoxOf(flow.from, Phase::kBackward), to = BoxOf(flow.to, Phase::kBackward);
    canvas_.Line({{from.left + 24, from.top()}, {from.left + 24, to.bottom - 0.5}}, StyleOf(flow), Words(flow));
    if (gap_ < kLeastGapForText) return;
    canvas_.Text({to.left + 32, Above(flow.from), to.width - 36, gap_}, Words(flow), {kFlowSize, false, kFlowText});
  }

  // What one row gives to several goes in one lane: the first one from the boxes where it crosses no other.
  void AddFar(const std::vector<const OverviewFlow*>& far) {
    std::map<size_t, size_t> reach;  // by source: the last row that it goes to
    for (const OverviewFlow* flow : far) reach[flow->from] = std::max(reach[flow->from], flow->to);
    std::vector<std::pair<size_t, size_t>> order(reach.begin(), reach.end());
    std::ranges::stable_sort(order, {}, [](const auto& span) { return span.second - span.first; });
    std::map<size_t, size_t> lane_of;
    for (const auto& [from, last] : order) {
      size_t lane = 0;
      const auto crosses = [&, from = from, last = last](const auto& other) {  // clang 14 captures no bindings
        return other.second == lane && other.first < last && from < reach[other.first];
      };
      while (std::ranges::any_of(lane_of, crosses)) ++lane;
      lane_of[from] = lane;
    }
    for (const OverviewFlow* flow : far) {
      const Rectangle from = BoxOf(flow->from, Phase::kForward), to = BoxOf(flow->to, Phase::kForward);
      const double x = std::max(kBoxesLeft - 24 - 10 * static_cast<double>(lane_of[flow->from]), kLanesLeft);
      canvas_.Line(
          {{from.left, from.middle() - 3},
           {x, from.middle() - 3},
           {x, to.middle() + 3},
           {to.left - 0.5, to.middle() + 3}},
          StyleOf(*flow),
          StrCat(overview_.rows[flow->from].title, " to ", overview_.rows[flow->to].title, ": ", Words(*flow)));
    }
  }

  void AddEnds() {
    // As many as have room.
    const auto list = [](std::string_view what, const std::vector<std::string>& ends, double room) {
      std::string text = StrCat(what, ": ");
      for (size_t i = 0; i < ends.size(); ++i) {
        const std::string longer = StrCat(text, i > 0 ? ",  " : "", ends[i]);
        const std::string more = StrCat(", ", ends.size() - i, " more");
        if (i > 0 && RoomFor(longer + more, kEndsSize, false) > room) return text + more;
        text = longer;
      }
      return text;
    };
    const double width = kBoxesRight - kBoxesLeft;
    const Rectangle inputs = overview_.optimizer.ops > 0 ? ColumnBox(kRowsTop, Phase::kForward)
                                                         : Rectangle{kBoxesLeft, kRowsTop - 12, width, 14};
    if (!overview_.inputs.empty()) {
      canvas_.Text({inputs.left, overview_.optimizer.ops > 0 ? inputs.bottom : kRowsTop - 10, inputs.width, 12},
                   list("inputs", overview_.inputs, inputs.width), {kEndsSize, false, "#31507F"});
    }
    const double last = overview_.rows.empty() ? kRowsBottom : BoxOf(overview_.rows.size() - 1, Phase::kForward).bottom;
    double below = last - 16;
    for (const OverviewFrame& frame : overview_.frames) {
      if (frame.last + 1 == overview_.rows.size()) below -= kFrameFoot;
    }
    if (!overview_.outputs.empty()) {
      canvas_.Text({kBoxesLeft, std::max(below, 4.0), width, 12}, list("outputs", overview_.outputs, width),
                   {kEndsSize, false, "#31507F"});
    }
  }

  const Overview& overview_;
  Canvas canvas_;
  double longest_ = 0, total_ = 0, pitch_ = 0, gap_ = 0;
  std::vector<double> row_top_, frame_top_, frame_bottom_;
};

}  // namespace

Result<std::string> DrawOverview(const Plan& plan, const RenderOptions& options) {
  SBP_ASSIGN_OR_RETURN(const Overview overview, MakeOverview(plan, options));
  return OverviewMap(overview).Draw();
}

}  // namespace sbp
