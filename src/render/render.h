// Render: a plan or graph as a neutral view, then dot, svg, png, pdf, markdown or text.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "plan/plan.h"
#include "sbp/shard_math.h"

namespace sbp {

struct RenderOptions {
  std::vector<std::string> expand;  // scopes to open ("*" all); names may hold '*'
  Notation notation = Notation::kSbp;
  std::string view;                           // "": as ViewFor() says
  std::function<bool()> cancelled = nullptr;  // is the picture no longer wanted? Asked before Graphviz lays it out
  bool hold_stderr = false;                   // redirect the process's while Graphviz draws (render/graphviz.h)
  std::optional<double> step_seconds;  // as the plan is executed, where it is right: told beside the sum of prices
  size_t max_nodes = 240;  // what a drawing may hold before deeper scopes stay folded; more of a wide graph is a tangle
};

// What a drawing or a document shows. One row per view, all_views.cc.
struct Document;
struct ViewRow {
  std::string_view name;  // as in --view
  std::string_view doc;
  Result<Document> (*tabulate)(const Plan& plan, const RenderOptions& options);
  Result<std::string> (*draw)(const Plan& plan, const RenderOptions& options);  // Graphviz source
  bool of_tasks;                                                                // needs Plan::physical
  const char* engine;  // of Graphviz: "dot" finds the positions, "nop2" takes those of the source
};
std::span<const ViewRow> AllViews();
Result<const ViewRow*> FindView(std::string_view name);

// A graph of more ops is drawn as its overview, where neither a view nor scopes to open are asked for: op by op it is
// too large for a screen.
inline constexpr size_t kMostOpsOfGraphView = 300;
// The view that the options name, or that is best for this plan.
Result<const ViewRow*> ViewFor(const Plan& plan, const RenderOptions& options);

// One row per format, all_formats.cc.
struct FormatRow {
  std::string_view extension;  // "svg"
  std::string_view doc;
  Result<std::string> (*render)(const Plan& plan, const RenderOptions& options);
};
std::span<const FormatRow> AllFormats();
// By the extension. Error (kUsage): none of these, with the nearest; `others`: what the caller writes itself, for the
// text.
Result<const FormatRow*> FormatForPath(std::string_view path, std::span<const std::string_view> others = {});

}  // namespace sbp
