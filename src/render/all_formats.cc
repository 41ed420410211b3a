// The table of output formats: a format is a function and a row.
#include <algorithm>
#include <cctype>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "plan/plan.h"
#include "render/document.h"
#include "render/graphviz.h"
#include "render/render.h"
#include "render/tables.h"

namespace sbp {
namespace {

Result<std::string> Dot(const Plan& plan, const RenderOptions& options) {
  SBP_ASSIGN_OR_RETURN(const ViewRow* view, ViewFor(plan, options));
  return view->draw(plan, options);
}

constexpr char kSvg[] = "svg", kPng[] = "png", kPdf[] = "pdf";

template <const char* kFormat>
Result<std::string> Picture(const Plan& plan, const RenderOptions& options) {
  SBP_ASSIGN_OR_RETURN(const ViewRow* view, ViewFor(plan, options));
  SBP_ASSIGN_OR_RETURN(const std::string dot, view->draw(plan, options));
  return LayOut(dot, kFormat, view->engine, options.cancelled, options.hold_stderr);
}

// Bytes of a drawing that browsers and reviews open at once.
constexpr size_t kMostSvgBytes = 1'000'000;
constexpr size_t kFewestNodes = 40;

// A graph that turns out larger is folded further, unless somebody says how much it is to hold.
Result<std::string> Svg(const Plan& plan, const RenderOptions& options) {
  RenderOptions drawn = options;
  while (true) {
    SBP_ASSIGN_OR_RETURN(std::string svg, Picture<kSvg>(plan, drawn));
    const bool may_fold = options.expand.empty() && options.max_nodes == RenderOptions().max_nodes;
    if (svg.size() <= kMostSvgBytes || !may_fold || drawn.max_nodes <= kFewestNodes) return svg;
    drawn.max_nodes = std::max(kFewestNodes, drawn.max_nodes * 3 / 4);
  }
}

template <std::string (*kWrite)(const Document&)>
Result<std::string> Tables(const Plan& plan, const RenderOptions& options) {
  SBP_ASSIGN_OR_RETURN(const ViewRow* view, ViewFor(plan, options));
  SBP_ASSIGN_OR_RETURN(const Document document, view->tabulate(plan, options));
  return kWrite(document);
}

constexpr FormatRow kFormats[] = {
    {"dot", "the drawing as Graphviz source", Dot},
    {"svg", "a vector drawing for browsers; hover shows names and reasons", Svg},
    {"png", "a bitmap", Picture<kPng>},
    {"pdf", "a vector drawing on one page", Picture<kPdf>},
    {"md", "tables of ops, collectives and memory in Markdown", Tables<WriteMarkdown>},
    {"txt", "the same tables in aligned columns", Tables<WriteText>},
};

}  // namespace

std::span<const FormatRow> AllFormats() { return kFormats; }

Result<const FormatRow*> FormatForPath(std::string_view path, std::span<const std::string_view> others) {
  const size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  const size_t dot = name.rfind('.');
  std::string extension(dot == std::string_view::npos ? "" : name.substr(dot + 1));
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
  std::vector<std::string> known;
  for (const FormatRow& row : kFormats) {
    if (row.extension == extension) return &row;
    known.emplace_back(row.extension);
  }
  known.insert(known.end(), others.begin(), others.end());
  return UsageError(
      StrCat(Quote(path), ": a drawing's extension is one of ", Join(known, ", "), DidYouMean(extension, known)));
}

}  // namespace sbp
