// The table of views: what a drawing or a document shows.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "plan/plan.h"
#include "render/arena_map.h"
#include "render/document.h"
#include "render/graph_drawing.h"
#include "render/overview_map.h"
#include "render/render.h"

namespace sbp {
namespace {

constexpr ViewRow kViews[] = {
    {"graph", "ops, layouts and collectives", TabulateGraph, DrawGraph, false, "dot"},
    {"overview", "times, collectives and memory of the model's parts, on one screen", TabulateGraph, DrawOverview,
     false, "nop2"},
    {"tasks", "tasks and registers of a device, drawn as the arena over time", TabulateTasks, DrawArena, true, "nop2"},
};

}  // namespace

std::span<const ViewRow> AllViews() { return kViews; }

Result<const ViewRow*> FindView(std::string_view name) {
  std::vector<std::string> known;
  for (const ViewRow& row : kViews) {
    if (row.name == name) return &row;
    known.emplace_back(row.name);
  }
  return UsageError(StrCat("no view ", Quote(name), DidYouMean(name, known), "; there are ", Join(known, ", ")));
}

Result<const ViewRow*> ViewFor(const Plan& plan, const RenderOptions& options) {
  if (!options.view.empty()) return FindView(options.view);
  const bool large = plan.graph.ops.size() > kMostOpsOfGraphView && options.expand.empty();
  return FindView(large ? "overview" : "graph");
}

}  // namespace sbp
