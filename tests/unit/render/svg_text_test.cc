#include "render/svg_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "render/graphviz.h"
#include "render/render.h"
#include "render/text_width.h"
#include "unit/plans/transformer.h"

namespace sbp {
namespace {

using sbp::testing::TransformerPlan;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Value(std::string_view tag, std::string_view name) {
  const std::string opening = StrCat(" ", name, "=\"");
  const size_t at = tag.find(opening);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = tag.substr(at + opening.size());
  return std::string(rest.substr(0, rest.find('"')));
}

struct Span {
  double left = 0, right = 0;
};

// Of the coordinates in points="x,y x,y" or d="Mx,yCx,y x,y".
Span Extent(std::string_view coordinates) {
  Span span = {1e9, -1e9};
  const char* at = coordinates.data();
  const char* const end = at + coordinates.size();
  while (at < end) {
    double x = 0;
    const auto [next, error] = std::from_chars(at, end, x);
    if (error != std::errc()) {
      ++at;
      continue;
    }
    span = {std::min(span.left, x), std::max(span.right, x)};
    at = std::find(next, end, ',') + 1;  // past y
    double y = 0;
    if (at < end) at = std::from_chars(at, end, y).ptr;
  }
  return span;
}

struct Measured {
  size_t texts = 0;
  std::vector<std::string> beyond;  // texts that are wider than the node's outline
};

// Every text of every node against that node's outline, by what the file says alone. Legends and titles have none.
Measured MeasureNodes(std::string_view svg) {
  Measured measured;
  while (true) {
    const size_t begin = svg.find("class=\"node\"");
    if (begin == std::string_view::npos) return measured;
    svg.remove_prefix(begin);
    const std::string_view node = svg.substr(0, svg.find("<!--"));  // which opens the next node or edge
    Span outline = {1e9, -1e9};
    for (const std::string_view line : Split(node, '\n')) {
      for (const char* name : {"points", "d"}) {
        const std::string shape = line.starts_with("<poly") || line.starts_with("<path") ? Value(line, name) : "";
        if (shape.empty()) continue;
        const Span extent = Extent(shape);
        outline = {std::min(outline.left, extent.left), std::max(outline.right, extent.right)};
      }
      if (!line.starts_with("<text ") || outline.right < outline.left) continue;
      ++measured.texts;
      const double x = std::atof(Value(line, "x").c_str()), length = std::atof(Value(line, "textLength").c_str());
      const std::string anchor = Value(line, "text-anchor");
      const double left = x - (anchor == "middle" ? length / 2 : anchor == "end" ? length : 0);
      if (length <= 0 || left < outline.left || left + length > outline.right) measured.beyond.emplace_back(line);
    }
    svg.remove_prefix(1);
  }
}

std::string Draw(const Plan& plan, std::string_view extension, const RenderOptions& options = {}) {
  const auto format = FormatForPath(StrCat("x.", extension));
  EXPECT_TRUE(format.ok());
  auto picture = (*format)->render(plan, options);
  EXPECT_TRUE(picture.ok()) << picture.status().message();
  return picture.ok() ? *picture : "";
}

TEST(SvgText, MeasureFindsTextThatIsTooWide) {
  const std::string node =
      "<g id=\"n\" class=\"node\">\n<polygon points=\"0,0 50,0 50,20 0,20\"/>\n<text text-anchor=\"middle\" x=\"25\" "
      "textLength=\"51\">long</text>\n</g>";
  EXPECT_EQ(MeasureNodes(node).beyond.size(), 1U);
}

TEST(SvgText, EveryTextIsWithinItsNode) {
  const std::string svg = Draw(TransformerPlan({.layers = 4}), "svg");
  const Measured measured = MeasureNodes(svg);
  EXPECT_GT(measured.texts, 50U);
  EXPECT_THAT(measured.beyond, ::testing::IsEmpty());
}

TEST(SvgText, EveryTextHasItsLength) {
  const std::string svg = Draw(TransformerPlan({.layers = 4}), "svg");
  size_t texts = 0;
  for (const std::string_view line : Split(svg, '\n')) {
    if (!line.starts_with("<text ")) continue;
    ++texts;
    EXPECT_THAT(std::string(line), HasSubstr(" textLength=\""));
    EXPECT_THAT(std::string(line), Not(HasSubstr("font-family")));
  }
  EXPECT_GT(texts, 50U);
  EXPECT_THAT(svg, HasSubstr(StrCat("<svg font-family=\"", kFontFamily, "\"")));
}

TEST(SvgText, LengthsAreOfTheTextNotOfItsEntities) {
  const std::string svg = FixTextLengths(
      "<svg width=\"9\">\n<text text-anchor=\"start\" x=\"0\" y=\"0\" font-size=\"10.00\">a&#45;&lt;</text>\n</svg>",
      false);
  EXPECT_THAT(
      svg, HasSubstr(StrCat(" textLength=\"", FormatDouble(std::round(SetWidth("a-<", 10, false) * 100) / 100), "\"")));
}

TEST(SvgText, SpacesInFrontOfATextMoveIt) {
  const auto fixed = [](std::string_view anchor, std::string_view text) {
    return FixTextLengths(StrCat("<svg width=\"9\">\n<text text-anchor=\"", anchor,
                                 "\" x=\"5\" y=\"0\" font-size=\"10.00\">", text, "</text>\n</svg>"),
                          false);
  };
  const double space = RoomFor("\u00A0", 10, false);
  const auto at = [](double x) { return StrCat(" x=\"", FormatDouble(std::round(x * 100) / 100), "\""); };
  for (const std::string_view text : {"\u00A0\u00A0ab", "&#160;&#160;ab"}) {
    EXPECT_THAT(fixed("start", text), AllOf(HasSubstr(at(5 + 2 * space)), HasSubstr(">ab<"), Not(HasSubstr("160"))));
    EXPECT_THAT(fixed("middle", text), AllOf(HasSubstr(at(5 + space)), HasSubstr(">ab<")));
  }
  EXPECT_THAT(fixed("start", "ab"), HasSubstr(at(5)));
}

TEST(SvgText, LabelsOfEdgesDoNotLieOnEachOther) {
  const auto edge = [](double x, double y, std::string_view label) {
    return StrCat("<g id=\"e\" class=\"edge\"><text text-anchor=\"middle\" x=\"", x, "\" y=\"", y,
                  "\" font-size=\"10.00\">", label, "</text></g>\n");
  };
  const auto node = [&](double x, double y, std::string_view label) {
    std::string text = edge(x, y, label);
    return text.replace(text.find("edge"), 4, "node");
  };
  const std::string svg = FixTextLengths(StrCat("<svg width=\"9\">\n", edge(50, 31, "first"), edge(52, 33, "upon"),
                                                edge(52, 45, "below"), edge(90, 31, "beside"), node(50, 31, "inside")),
                                         true);
  for (const char* kept : {">first</text>", ">below</text>", ">beside</text>", ">inside</text>"}) {
    EXPECT_THAT(svg, HasSubstr(kept));
  }
  EXPECT_THAT(svg, Not(HasSubstr("upon")));
  EXPECT_THAT(svg, HasSubstr("<g id=\"e\" class=\"edge\"></g>")) << "nothing of a label that is left out";
}

TEST(SvgText, WhatIsNoSvgStays) {
  EXPECT_EQ(FixTextLengths("<text font-size=\"1\">open", true), "<text font-size=\"1\">open");
  EXPECT_EQ(FixTextLengths("", true), "");
}

TEST(TextWidth, AsHelveticaSetsIt) {
  EXPECT_DOUBLE_EQ(SetWidth("AB", 10, false), 13.34);
  EXPECT_DOUBLE_EQ(SetWidth("AB", 10, true), 14.44);
  EXPECT_DOUBLE_EQ(RoomFor("ii", 10, false), 12.04);  // two characters of a monospaced font
  EXPECT_GE(RoomFor("→ × 日本 \xff", 10, false), SetWidth("→ × 日本 \xff", 10, false));
}

TEST(TextWidth, TextIsElidedToItsRoom) {
  const std::string name = "model/decoder/layers.17/self_attn/q_proj";
  for (const double room : {0.0, 12.0, 40.0, 90.0, 1000.0}) {
    EXPECT_LE(RoomFor(FitText(name, room, 9, true), 9, true), room);
  }
  EXPECT_EQ(FitText(name, 1000, 9, false), name);
  EXPECT_THAT(FitText(name, 90, 9, false), HasSubstr(".."));
}

// Names of layers differ in their middle, which is what is cut first.
TEST(TextWidth, TextsThatDifferStayApart) {
  const auto name = [](int layer, const char* part) {
    return StrCat("acc/model.layers.", layer, ".block_sparse_moe.experts.", part, "_proj.weight");
  };
  const std::vector<std::string> names = {name(0, "gate"), name(1, "gate"), name(12, "gate"), name(0, "down")};
  constexpr double kRoom = 250;
  ASSERT_EQ(FitText(names[0], kRoom, 8.5, false), FitText(names[1], kRoom, 8.5, false));
  const std::vector<std::string> fitted = FitTexts(names, kRoom, 8.5, false);
  EXPECT_THAT(fitted[0], AllOf(HasSubstr("layers.0"), HasSubstr("gate_proj")));
  EXPECT_THAT(fitted[1], HasSubstr("layers.1."));
  EXPECT_THAT(fitted[2], HasSubstr("layers.12"));
  EXPECT_EQ(fitted[3], FitText(names[3], kRoom, 8.5, false));
  for (const std::string& text : fitted) EXPECT_LE(RoomFor(text, 8.5, false), kRoom);
}

// Another's process: what its threads print while a picture is drawn comes out.
TEST(Graphviz, StderrIsHeldOnlyWhereAsked) {
  for (const bool hold : {false, true}) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const int before = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    const auto print = [] { return write(STDERR_FILENO, "x", 1) < 0; };  // asked before the drawing and in it
    const bool good = LayOut("digraph g { a -> b }", "svg", "dot", print, hold).ok();
    dup2(before, STDERR_FILENO);
    close(before);
    close(ends[1]);
    char buffer[16];
    const ssize_t got = read(ends[0], buffer, sizeof(buffer));
    close(ends[0]);
    EXPECT_TRUE(good);
    EXPECT_EQ(got, hold ? 1 : 2);
  }
}

// Of what Graphviz stands on, too: no configuration of fonts is there, and Pango and fontconfig say so.
TEST(Graphviz, NothingReachesStderr) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    setenv("FONTCONFIG_FILE", "/nonexistent/fonts.conf", 1);
    bool good = true;
    for (const char* format : {"svg", "png", "pdf"}) {
      good =
          good && LayOut(
                      "digraph g { a [label=<<TABLE FIXEDSIZE=\"TRUE\" WIDTH=\"9\" HEIGHT=\"9\"><TR><TD>too long for "
                      "this</TD></TR></TABLE>>]; a -> b [label=\"日本\"]; }",
                      format, "dot", nullptr, /*hold_stderr=*/true)
                      .ok();
    }
    _exit(good ? 0 : 1);
  }
  close(ends[1]);
  std::string printed;
  char buffer[256];
  for (ssize_t got = read(ends[0], buffer, sizeof(buffer)); got > 0; got = read(ends[0], buffer, sizeof(buffer))) {
    printed.append(buffer, static_cast<size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(printed, "");
}

}  // namespace
}  // namespace sbp
