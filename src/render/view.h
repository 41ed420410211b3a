// View: what a picture shows, free of any drawing format. Built from a plan once; every writer reads it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "cluster/collective_kind.h"
#include "graph/phases.h"
#include "plan/plan.h"
#include "render/facts.h"
#include "render/render.h"

namespace sbp {

struct ViewNode {
  enum class Kind : uint8_t {
    kOp,
    kSummary,  // a folded scope or range
    kInput,
    kOutput,
    kParameter,   // only where its layout must change before use; others are lines of their op
    kCollective,  // one boxing step
    kConnector,   // where an edge leaves one column of the drawing for another
  };
  Kind kind = Kind::kOp;
  std::string title;
  std::vector<std::string> lines;  // small print below the title
  std::string tooltip;
  int32_t group = 0;
  Sharing sharing = Sharing::kUnknown;                     // kOp, kSummary
  CollectiveKind collective = CollectiveKind::kAllGather;  // kCollective
  uint64_t order = 0;                                      // position in the plan: nodes of a view are sorted by it
  Phase phase = Phase::kForward;                           // of a training step
};

// groups[0] is the whole drawing (no frame).
struct ViewGroup {
  std::string label;
  std::string note;  // "each 1.2 ms"
  int32_t parent = -1;
  int64_t copies = 1;
  Phase phase = Phase::kForward;
};

struct ViewEdge {
  enum class Kind : uint8_t {
    kData,
    kBackward,  // within the backward pass, which is drawn upwards, beside the forward pass
    kKept,      // from the forward pass to the backward pass
    kGradient,  // to the optimizer
  };
  uint32_t from = 0, to = 0;
  std::string label;    // the layout
  double bytes = 0;     // of the whole tensors
  int64_t tensors = 1;  // drawn as this one edge
  Kind kind = Kind::kData;
};

struct LegendEntry {
  enum class Kind : uint8_t { kSharing, kCollective, kPhase };
  Kind kind = Kind::kSharing;
  Sharing sharing = Sharing::kUnknown;
  CollectiveKind collective = CollectiveKind::kAllGather;
  std::string text;
  Phase phase = Phase::kForward;  // kPhase
  bool is_kept = false;           // kPhase: the edge of kept tensors
};

struct View {
  bool training = false;           // forward and backward pass, side by side
  std::vector<std::string> title;  // first line: the model's name
  std::vector<ViewNode> nodes;
  std::vector<ViewGroup> groups;
  std::vector<ViewEdge> edges;  // sorted by (from, to)
  std::vector<LegendEntry> legend;
  std::vector<std::string> notes;  // what was left out
};

// Ops and folded scopes of a drawing, whatever is asked for.
inline constexpr size_t kMaxDrawn = 1000;
// Never more of them than max_nodes allows, or than `most` when scopes are expanded; inputs, outputs and collectives
// beside them are at most as many again. Error: an --expand pattern that matches no scope (with the nearest names).
Result<View> MakeView(const Plan& plan, const RenderOptions& options, size_t most = kMaxDrawn);

// What the colours in it mean; `bare`: the view is of a graph without a plan.
std::vector<LegendEntry> LegendOf(const View& view, bool bare);

// Splits a view that would be a long ribbon into columns of about equal height, joined by numbered connectors.
void SplitIntoColumns(View& view);

}  // namespace sbp
