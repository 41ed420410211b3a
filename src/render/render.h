// Render: a plan or graph as a neutral view, then dot, svg, png, pdf, markdown or text.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "plan/plan.h"

namespace sbp {

struct RenderOptions {
  std::vector<std::string> expand;  // scopes to open ("*" all); names may hold '*'
  Notation notation = Notation::kSbp;
  std::string view = "graph";
  size_t max_nodes = 240;  // what a drawing may hold before deeper scopes stay folded; more of a wide graph is a tangle
};

// One row per format, all_formats.cc.
struct FormatRow {
  std::string_view extension;  // "svg"
  std::string_view doc;
  Result<std::string> (*render)(const Plan& plan, const RenderOptions& options);
};
std::span<const FormatRow> AllFormats();
Result<const FormatRow*> FormatForPath(std::string_view path);

}  // namespace sbp
