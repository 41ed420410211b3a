// What the colours of a picture mean: those that it has.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cluster/collective_kind.h"
#include "graph/phases.h"
#include "render/facts.h"
#include "render/view.h"

namespace sbp {

std::vector<LegendEntry> LegendOf(const View& view, bool bare) {
  std::vector<LegendEntry> legend;
  std::set<Phase> phases;
  std::set<Sharing> sharings;
  std::set<CollectiveKind> kinds;
  for (const ViewNode& node : view.nodes) {
    const bool op = node.kind == ViewNode::Kind::kOp || node.kind == ViewNode::Kind::kSummary;
    if (op && node.sharing != Sharing::kUnknown) sharings.insert(node.sharing);
    if (node.kind == ViewNode::Kind::kCollective) kinds.insert(node.collective);
    if (view.training) phases.insert(node.phase);
  }
  for (const Phase phase : phases) {
    legend.push_back({.kind = LegendEntry::Kind::kPhase, .text = std::string(PhaseName(phase)), .phase = phase});
  }
  if (view.training) {
    const char* kept = bare ? "kept for the backward pass" : "kept for the backward pass: bytes on each device";
    legend.push_back({.kind = LegendEntry::Kind::kPhase, .text = kept, .is_kept = true});
  }
  const std::map<Sharing, std::string> words = {{Sharing::kAllAxes, "work divided over every mesh axis"},
                                                {Sharing::kSomeAxes, "over some axes only"},
                                                {Sharing::kReplicated, "every device does it all"}};
  for (const Sharing s : sharings) {
    legend.push_back({.kind = LegendEntry::Kind::kSharing, .sharing = s, .text = words.at(s)});
  }
  for (const CollectiveKind k : kinds) {
    legend.push_back(
        {.kind = LegendEntry::Kind::kCollective, .collective = k, .text = std::string(CollectiveKindName(k))});
  }
  return legend;
}

}  // namespace sbp
