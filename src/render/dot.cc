#include "render/dot.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/number_text.h"
#include "base/text.h"
#include "cost/collective.h"
#include "graph/phases.h"
#include "render/facts.h"
#include "render/palette.h"

namespace sbp {
namespace {

// Length of the UTF-8 sequence that starts at text[i]; 0 when there is none.
size_t SequenceLength(std::string_view text, size_t i) {
  const unsigned char lead = static_cast<unsigned char>(text[i]);
  const size_t length = lead < 0x80 ? 1 : lead >= 0xF5 ? 0 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (length == 0 || i + length > text.size()) return 0;
  for (size_t k = 1; k < length; ++k) {
    if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return 0;
  }
  return length;
}

std::string Row(std::string_view text, int size, std::string_view color, bool bold) {
  PlainStream out;
  out << "<TR><TD><FONT POINT-SIZE=\"" << size << "\" COLOR=\"" << color << "\">" << (bold ? "<B>" : "")
      << EscapeHtml(text) << (bold ? "</B>" : "") << "</FONT></TD></TR>";
  return std::move(out).str();
}

std::string NodeTable(const ViewNode& node, std::string_view text_color, int title_size) {
  PlainStream out;
  out << "<<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"1\">"
      << Row(node.title, title_size, text_color, true);
  for (const std::string& line : node.lines) {
    if (!line.empty()) out << Row(line, 10, text_color, false);
  }
  out << "</TABLE>>";
  return std::move(out).str();
}

struct Look {
  Paint paint;
  std::string_view shape, style;
  int title_size = 13;
  double pen = 1.2;
};

Look LookOf(const ViewNode& node) {
  switch (node.kind) {
    case ViewNode::Kind::kOp:
      return {PaintOf(node.sharing), "box", "filled,rounded"};
    case ViewNode::Kind::kSummary:
      return {PaintOf(node.sharing), "box3d", "filled", 13, 1.4};
    case ViewNode::Kind::kInput:
      return {{"#FFFFFF", "#31507F", "#1B2A44"}, "house", "filled", 11, 1.6};
    case ViewNode::Kind::kOutput:
      return {{"#FFFFFF", "#31507F", "#1B2A44"}, "invhouse", "filled", 11, 1.6};
    case ViewNode::Kind::kParameter:
      return {{"#FBFBFD", "#8C93A3", "#3C4250"}, "note", "filled", 10, 0.9};
    case ViewNode::Kind::kConnector:
      return {{"#FFF9E8", "#8A6D1D", "#5C4810"}, "circle", "filled", 12, 1.4};
    case ViewNode::Kind::kCollective:
      break;
  }
  if (RowOf(node.collective).local) return {PaintOf(node.collective), "box", "filled,rounded,dashed", 10, 1.0};
  return {PaintOf(node.collective), "octagon", "filled", 12, 1.6};
}

class DotWriter {
 public:
  explicit DotWriter(const View& view) : view_(view) {}

  std::string Write() {
    out_ << "digraph plan {\n";
    WriteDefaults();
    std::vector<std::vector<int32_t>> children(view_.groups.size());
    for (size_t g = 1; g < view_.groups.size(); ++g)
      children[view_.groups[g].parent].push_back(static_cast<int32_t>(g));
    std::vector<std::vector<uint32_t>> members(view_.groups.size());
    for (uint32_t n = 0; n < view_.nodes.size(); ++n) members[view_.nodes[n].group].push_back(n);
    WriteGroups(children, members);
    if (view_.training) WriteOrderOfPasses();
    for (const ViewEdge& edge : view_.edges) WriteEdge(edge);
    out_ << "}\n";
    return std::move(out_).str();
  }

 private:
  void WriteDefaults() {
    const bool large = view_.nodes.size() > 150;
    // The network simplex loops are bounded so that a large drawing costs seconds, not minutes. Long searches for fewer
    // crossings forget the order of the passes (WriteOrderOfPasses).
    out_ << "  graph [" << (view_.training ? "newrank=true, " : "")
         << "rankdir=TB, fontname=\"Helvetica,Arial,sans-serif\", fontsize=14, labelloc=t, labeljust=l, "
            "nodesep=0.3, ranksep=0.32, pad=0.3, bgcolor=\"#FFFFFF\", splines="
         << (large ? "polyline" : "spline") << ", nslimit=" << (large ? 2 : 8) << ", nslimit1=" << (large ? 2 : 8)
         << ", mclimit=" << (large || view_.training ? "0.4" : "1") << ", label=" << TitleLabel() << "];\n"
         << "  node [fontname=\"Helvetica,Arial,sans-serif\", fontsize=11, margin=\"0.08,0.06\", height=0.3];\n"
         << "  edge [fontname=\"Helvetica,Arial,sans-serif\", fontsize=10, fontcolor=\"#3C4250\", color=\"#5B6577\", "
            "arrowsize=0.7];\n";
  }

  // Title and legend are the drawing's label: they take part in no layout.
  std::string TitleLabel() const {
    PlainStream label;
    label << "<<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"2\" CELLPADDING=\"2\">";
    for (size_t i = 0; i < view_.title.size(); ++i) {
      label << "<TR><TD ALIGN=\"LEFT\"><FONT POINT-SIZE=\"" << (i == 0 ? 22 : 13) << "\">" << (i == 0 ? "<B>" : "")
            << EscapeHtml(view_.title[i]) << (i == 0 ? "</B>" : "") << "</FONT></TD></TR>";
    }
    for (const std::string& note : view_.notes) {
      label << "<TR><TD ALIGN=\"LEFT\"><FONT POINT-SIZE=\"11\" COLOR=\"#8A6D1D\">" << EscapeHtml(note)
            << "</FONT></TD></TR>";
    }
    LegendRow(label, LegendEntry::Kind::kPhase, "Passes:", "");
    LegendRow(label, LegendEntry::Kind::kSharing, "Ops:", "");
    LegendRow(label, LegendEntry::Kind::kCollective, "Collectives:", "edge width: bytes of the tensor, log scale");
    label << "</TABLE>>";
    return std::move(label).str();
  }

  static std::string_view ColourOf(const LegendEntry& entry) {
    if (entry.is_kept) return kKeptColour;
    if (entry.kind == LegendEntry::Kind::kPhase) return PaintOf(entry.phase).strong;
    if (entry.kind == LegendEntry::Kind::kSharing) return PaintOf(entry.sharing).line;
    const Paint paint = PaintOf(entry.collective);
    return RowOf(entry.collective).local ? paint.line : paint.fill;
  }

  // Squares of colour and words in one line of text: cells of a nested table would be stretched to the title's width.
  void LegendRow(std::ostringstream& label, LegendEntry::Kind kind, std::string_view title,
                 std::string_view end) const {
    bool any = false;
    for (const LegendEntry& entry : view_.legend) {
      if (entry.kind != kind) continue;
      if (!any) label << "<TR><TD ALIGN=\"LEFT\"><FONT POINT-SIZE=\"12\">" << title << "</FONT>";
      any = true;
      label << "<FONT POINT-SIZE=\"18\" COLOR=\"" << ColourOf(entry) << "\">&#160;&#160;" << (entry.is_kept ? "╌" : "■")
            << "</FONT><FONT POINT-SIZE=\"12\">&#160;" << EscapeHtml(entry.text) << "</FONT>";
    }
    if (!any) return;
    if (!end.empty()) label << "<FONT POINT-SIZE=\"12\" COLOR=\"#6A768C\">&#160;&#160;&#160;" << end << "</FONT>";
    label << "</TD></TR>";
  }

  // Depth first without recursion: a frame is closed when its last child is.
  void WriteGroups(const std::vector<std::vector<int32_t>>& children,
                   const std::vector<std::vector<uint32_t>>& members) {
    struct Frame {
      int32_t group;
      size_t next = 0;
    };
    std::vector<Frame> stack = {{0}};
    for (uint32_t n : members[0]) WriteNode(n, 2);
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next == children[top.group].size()) {
        stack.pop_back();
        if (!stack.empty()) out_ << std::string(2 * stack.size(), ' ') << "}\n";
        continue;
      }
      const int32_t group = children[top.group][top.next++];
      OpenGroup(group, stack.size());
      if (view_.training && stack.size() == 1)
        out_ << "    " << AnchorOf(group) << " [style=invis, shape=point, width=0];\n";
      for (uint32_t n : members[group]) WriteNode(n, 2 * stack.size() + 2);
      stack.push_back({group});
    }
  }

  static std::string AnchorOf(int32_t group) { return StrCat("a", group); }

  // Frames stand from left to right as the passes follow each other: a point at the top of each, and edges between
  // these. Ranks are of the whole picture (newrank), so that both passes of a layer stand at one height.
  void WriteOrderOfPasses() {
    std::vector<int32_t> frames;
    for (size_t g = 1; g < view_.groups.size(); ++g) {
      if (view_.groups[g].parent == 0) frames.push_back(static_cast<int32_t>(g));
    }
    std::ranges::stable_sort(frames, {}, [&](int32_t group) { return view_.groups[group].phase; });
    std::vector<std::string> anchors;
    for (const int32_t group : frames) anchors.push_back(AnchorOf(group));
    out_ << "  {rank=min; " << Join(anchors, "; ") << "}\n";
    if (anchors.size() > 1) out_ << "  " << Join(anchors, " -> ") << " [style=invis];\n";
  }

  void OpenGroup(int32_t index, size_t depth) {
    const ViewGroup& group = view_.groups[index];
    const bool repeated = group.copies > 1;
    const FramePaint paint = PaintOf(group.phase);
    const bool is_pass = view_.training && group.parent == 0;
    out_ << std::string(2 * depth, ' ') << "subgraph cluster_" << index << " {\n"
         << std::string(2 * depth + 2, ' ') << "graph [style=\"filled,rounded\", fillcolor=\""
         << paint.fills[(depth - 1) % 3] << "\", color=\"" << (repeated ? "#4B5BD6" : paint.line)
         << "\", penwidth=" << (repeated ? "2.6" : "1") << ", margin=10, label=<<FONT POINT-SIZE=\""
         << (is_pass ? 16 : 12) << "\" COLOR=\"" << paint.text << "\"><B>" << EscapeHtml(Shorten(group.label, 60))
         << "</B></FONT>";
    if (repeated) out_ << "<FONT POINT-SIZE=\"18\" COLOR=\"#4B5BD6\"><B>&#160;× " << group.copies << "</B></FONT>";
    if (!group.note.empty()) {
      out_ << "<FONT POINT-SIZE=\"10\" COLOR=\"#6A768C\">&#160;&#160;" << EscapeHtml(group.note) << "</FONT>";
    }
    out_ << ">];\n";
  }

  void WriteNode(uint32_t index, size_t indent) {
    const ViewNode& node = view_.nodes[index];
    const Look look = LookOf(node);
    out_ << std::string(indent, ' ') << "n" << index << " [shape=" << look.shape << ", style=\"" << look.style
         << "\", fillcolor=\"" << look.paint.fill << "\", color=\"" << look.paint.line << "\", penwidth=" << look.pen
         << ", label=" << NodeTable(node, look.paint.text, look.title_size);
    if (node.kind == ViewNode::Kind::kSummary) out_ << ", margin=\"0.12,0.1\"";  // the sides of the box take some
    if (!node.tooltip.empty()) out_ << ", tooltip=" << QuoteTooltip(node.tooltip);
    out_ << "];\n";
  }

  void WriteEdge(const ViewEdge& edge) {
    // 1 KB is a hair line; every factor of 10 adds 0.7 points.
    const double width = std::clamp(0.8 + 0.7 * (std::log10(std::max(edge.bytes, 1.0)) - 3), 0.8, 6.0);
    // The backward pass runs upwards: its edges are set the other way round.
    const bool up = edge.kind == ViewEdge::Kind::kBackward, thin = edge.kind == ViewEdge::Kind::kGradient;
    out_ << "  n" << (up ? edge.to : edge.from) << " -> n" << (up ? edge.from : edge.to)
         << " [penwidth=" << (thin ? 1.2 : std::round(width * 10) / 10);
    if (up) out_ << ", dir=back";
    if (thin) {
      out_ << ", constraint=false, color=\"" << PaintOf(Phase::kOptimizer).strong << "\"";
    }
    if (edge.kind == ViewEdge::Kind::kKept) {
      out_ << ", style=dashed, color=\"" << kKeptColour << "\", fontcolor=\"" << kKeptColour << "\"";
    }
    if (!edge.label.empty()) out_ << ", label=" << QuoteDot("\u00A0" + edge.label);
    out_ << ", tooltip=" << QuoteDot(FormatBytes(edge.bytes)) << "];\n";
  }

  const View& view_;
  PlainStream out_;
};

}  // namespace

void ForEachCharacter(std::string_view text, const std::function<void(std::string_view)>& put) {
  for (size_t i = 0; i < text.size();) {
    const size_t length = SequenceLength(text, i);
    put(length == 0 ? std::string_view("?") : text.substr(i, length));
    i += std::max<size_t>(length, 1);
  }
}

std::string EscapeHtml(std::string_view text) {
  std::string out;
  ForEachCharacter(text, [&](std::string_view c) {
    if (c == "&") {
      out += "&amp;";
    } else if (c == "<") {
      out += "&lt;";
    } else if (c == ">") {
      out += "&gt;";
    } else if (c == "\"") {
      out += "&quot;";
    } else if (c.size() == 1 && static_cast<unsigned char>(c[0]) < 0x20) {
      out += ' ';
    } else {
      out += c;
    }
  });
  return out;
}

std::string QuoteDot(std::string_view text) {
  std::string out = "\"";
  ForEachCharacter(text, [&](std::string_view c) {
    if (c == "\"" || c == "\\") {
      out += '\\';
      out += c;
    } else if (c == "\n") {
      out += "\\n";
    } else if (c.size() == 1 && static_cast<unsigned char>(c[0]) < 0x20) {
      out += ' ';
    } else {
      out += c;
    }
  });
  out += '"';
  return out;
}

std::string QuoteTooltip(std::string_view text) {
  constexpr size_t kLongestLine = 400, kMostLines = 20;
  std::vector<std::string> lines;
  for (size_t begin = 0; begin <= text.size() && lines.size() < kMostLines;) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(Shorten(text.substr(begin, end - begin), kLongestLine));
    begin = end + 1;
  }
  return QuoteDot(Join(lines, "\n"));
}

std::string WriteDot(const View& view) { return DotWriter(view).Write(); }

}  // namespace sbp
