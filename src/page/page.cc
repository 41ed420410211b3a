#include "page/page.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "io/base64.h"
#include "io/deflate.h"
#include "page/modules.h"
#include "page/sections.h"
#include "render/facts.h"

namespace sbp {
namespace {

constexpr int kFormat = 1;  // of the document

Json PlanDocument(const Plan& plan, const PageOptions& options) {
  const PageFacts facts = FindPageFacts(plan, options);
  Json document = Json::object();
  for (const SectionRow& row : AllSections()) {
    document[std::string(row.name)] = facts.bare && !row.of_graph ? Json() : row.write(facts);
  }
  return document;
}

std::string_view FileNamed(std::string_view name) {
  const auto file = std::ranges::find(PageFiles(), name, &PageFile::name);
  return file == PageFiles().end() ? "" : file->text;
}

// What a document's title may hold: the parser of HTML ends it at "<".
std::string EscapeHtml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// `document` goes in as base64, so that nothing in it can end the element that holds it.
Result<std::string> Frame(std::string_view title, const Json& document) {
  // Names from files may hold bytes that are no UTF-8; they are replaced, never thrown about.
  SBP_ASSIGN_OR_RETURN(const std::string deflated,
                       Deflate(document.dump(-1, ' ', false, Json::error_handler_t::replace)));
  SBP_ASSIGN_OR_RETURN(const std::string script, JoinModules(PageFiles(), "main.js"));
  std::string page;
  std::string_view frame = FileNamed("page.html");
  const std::pair<std::string_view, std::string> parts[] = {{"{{title}}", EscapeHtml(title)},
                                                            {"{{style}}", std::string(FileNamed("style.css"))},
                                                            {"{{document}}", Base64Encode(deflated)},
                                                            {"{{script}}", script}};
  for (const auto& [mark, text] : parts) {  // in the order in which they stand in page.html
    const size_t at = frame.find(mark);
    if (at == std::string_view::npos) return Defect(StrCat("the page's frame has no ", mark));
    page += StrCat(frame.substr(0, at), text);
    frame.remove_prefix(at + mark.size());
  }
  return page + std::string(frame);
}

}  // namespace

Result<std::string> WritePage(const Plan& plan, const PageOptions& options) {
  Json document = {{"format", kFormat}, {"plans", Json::array()}};
  document["plans"].push_back(PlanDocument(plan, options));
  const std::string model = TitleOf(plan).front();
  return Frame(IsBareGraph(plan) ? model : StrCat(model, " · ", PlanHeadline(plan)), document);
}

Result<std::string> WriteDiffPage(const Plan& before, const Plan& after, const DiffPageOptions& options) {
  Json document = {{"format", kFormat}, {"plans", Json::array()}};
  document["plans"].push_back(PlanDocument(before, options.before));
  document["plans"].push_back(PlanDocument(after, options.after));
  const bool named = !options.before.file.empty() && !options.after.file.empty();
  const std::string plans = named ? StrCat(options.before.file, " → ", options.after.file) : "two plans";
  return Frame(StrCat(TitleOf(before).front(), ": ", plans), document);
}

}  // namespace sbp
