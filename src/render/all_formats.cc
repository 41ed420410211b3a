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

template <const char* kFormat>
Result<std::string> Picture(const Plan& plan, const RenderOptions& options) {
  SBP_ASSIGN_OR_RETURN(const ViewRow* view, ViewFor(plan, options));
  SBP_ASSIGN_OR_RETURN(const std::string dot, view->draw(plan, options));
  return LayOut(dot, kFormat, view->engine, options.cancelled, options.hold_stderr);
}

template <std::string (*kWrite)(const Document&)>
Result<std::string> Tables(const Plan& plan, const RenderOptions& options) {
  SBP_ASSIGN_OR_RETURN(const ViewRow* view, ViewFor(plan, options));
  SBP_ASSIGN_OR_RETURN(const Document document, view->tabulate(plan, options));
  return kWrite(document);
}

constexpr char kSvg[] = "svg", kPng[] = "png", kPdf[] = "pdf";

constexpr FormatRow kFormats[] = {
    {"dot", "the drawing as Graphviz source", Dot},
    {"svg", "a vector drawing for browsers; hover shows names and reasons", Picture<kSvg>},
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
