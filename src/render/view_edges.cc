#include "render/view_edges.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "graph/phases.h"
#include "graph/tensor_type.h"
#include "render/facts.h"
#include "render/training.h"

namespace sbp {
namespace {

void KeepHeaviest(View& view) {
  const size_t most = std::max<size_t>(4 * view.nodes.size(), 100);
  if (view.edges.size() <= most) return;
  view.notes.push_back(StrCat(view.edges.size() - most, " of the lightest edges are not drawn"));
  std::stable_sort(view.edges.begin(), view.edges.end(),
                   [](const ViewEdge& a, const ViewEdge& b) { return a.bytes > b.bytes; });
  view.edges.resize(most);
  std::sort(view.edges.begin(), view.edges.end(),
            [](const ViewEdge& a, const ViewEdge& b) { return std::tie(a.from, a.to) < std::tie(b.from, b.to); });
}

ViewEdge::Kind KindBetween(Phase from, Phase to) {
  if (from == Phase::kBackward && to == Phase::kBackward) return ViewEdge::Kind::kBackward;
  if (from == Phase::kForward && to == Phase::kBackward) return ViewEdge::Kind::kKept;
  if (from == Phase::kBackward && to == Phase::kOptimizer) return ViewEdge::Kind::kGradient;
  return ViewEdge::Kind::kData;
}

// The outermost repeat around a node; else the outermost frame, which is the pass.
int32_t PartAround(const View& view, uint32_t node) {
  int32_t frame = 0, repeat = -1;
  for (int32_t g = view.nodes[node].group; g > 0; g = view.groups[g].parent) {
    frame = g;
    if (view.groups[g].copies > 1) repeat = g;
  }
  return repeat >= 0 ? repeat : frame;
}

}  // namespace

EdgesOfView::EdgesOfView(const Plan& plan, bool training, Notation notation) : plan_(plan), notation_(notation) {
  if (training) kept_bytes_ = KeptBytesPerTensor(plan);
}

void EdgesOfView::Add(uint32_t from, uint32_t to, TensorId tensor, const NdSbp* layout) {
  const TensorType& type = plan_.graph.tensor(tensor).type;
  Sum& sum = sums_[{from, to}];
  if (!sum.tensors.insert(tensor).second) return;
  sum.bytes += static_cast<double>(type.num_bytes());
  if (!kept_bytes_.empty()) sum.kept += static_cast<double>(kept_bytes_[tensor.index()]);
  if (layout == nullptr || IsBareGraph(plan_)) return;
  sum.layouts.insert(FormatLayout(*layout, type.rank(), notation_));
}

EdgesOfView::Sums EdgesOfView::Bundled(const View& view, int32_t many) const {
  Sums bundled;
  std::map<std::pair<int32_t, uint32_t>, uint32_t> source;  // of a part and what it leads to: the node that is drawn
  for (const auto& [ends, sum] : sums_) {
    const auto [from, to] = ends;
    const bool to_optimizer = view.nodes[from].phase == Phase::kBackward && view.nodes[to].phase == Phase::kOptimizer;
    const bool bundle = view.training && (to_optimizer || static_cast<int32_t>(to) == many);
    const uint32_t drawn = bundle ? source.try_emplace({PartAround(view, from), to}, from).first->second : from;
    bundled[{drawn, to}].Merge(sum);
  }
  return bundled;
}

void EdgesOfView::WriteTo(View& view, int32_t many) const {
  for (const auto& [ends, sum] : Bundled(view, many)) {
    std::string label = sum.layouts.size() == 1 ? *sum.layouts.begin() : "";
    if (sum.tensors.size() > 1) label += StrCat(label.empty() ? "" : "  ", "× ", sum.tensors.size());
    const ViewEdge::Kind kind = KindBetween(view.nodes[ends.first].phase, view.nodes[ends.second].phase);
    if (kind == ViewEdge::Kind::kKept && sum.kept > 0) label = FormatBytes(sum.kept);
    if (kind == ViewEdge::Kind::kGradient) label.clear();
    view.edges.push_back(
        {ends.first, ends.second, std::move(label), sum.bytes, static_cast<int64_t>(sum.tensors.size()), kind});
  }
  KeepHeaviest(view);
}

}  // namespace sbp
