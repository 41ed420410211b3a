#include "strategy/optimal/layout_graph.h"

#include <cmath>
#include <limits>

#include "base/checked_math.h"
#include "boxing/boxing.h"
#include "cluster/cluster.h"
#include "cost/collective.h"
#include "graph/tensor_type.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {

int64_t LayoutGraph::SizeOf(const TensorType& type, int num_axes, size_t num_kinds) {
  const int64_t choices = type.kind == ValueKind::kTensor ? 1 + type.rank() + static_cast<int64_t>(num_kinds) : 1;
  int64_t size = 1;
  for (int axis = 0; axis < num_axes; ++axis) size = SaturatingMul(size, choices);
  return SaturatingMul(size, choices * num_axes);
}

LayoutGraph::LayoutGraph(const Problem& problem, const TensorType& type, std::span<const Sbp> kinds, double sent,
                         double local)
    : LayoutGraph(problem.boxing->world(), problem.boxing->Arcs(type, kinds), type, sent, local) {}

LayoutGraph::LayoutGraph(const BoxingWorld& world, BoxingArcs& arcs, const TensorType& type, double sent, double local)
    : space_(arcs.space()), valid_(space_.size()) {
  std::vector<std::vector<Arc>> of_axis(static_cast<size_t>(space_.num_axes()));
  for (uint32_t l = 0; l < space_.size(); ++l) {
    valid_[l] = arcs.IsValid(world, type, l);
    if (!valid_[l]) continue;
    if (!space_.layout(l).has_partial()) whole_.push_back(l);
    for (const BoxingArc& arc : arcs.From(world, type, l))
      of_axis[arc.axis].push_back({l, arc.to, arc.price * (arc.local ? local : sent)});
  }
  for (const std::vector<Arc>& arcs_of : of_axis) arcs_.insert(arcs_.end(), arcs_of.begin(), arcs_of.end());
}

std::optional<uint32_t> LayoutGraph::number(const NdSbp& layout) const {
  const std::optional<size_t> number = space_.number(layout);
  if (!number || !valid_[*number]) return std::nullopt;
  return static_cast<uint32_t>(*number);
}

std::span<const float> LayoutGraph::SecondsFrom(uint32_t layout) const {
  seconds_from_.resize(size());
  std::vector<float>& row = seconds_from_[layout];
  if (row.empty()) {
    std::vector<double> seconds(size(), std::numeric_limits<double>::infinity());
    seconds[layout] = 0;
    SpreadOnward(seconds, 1);
    for (const double s : seconds) {
      const auto rounded = static_cast<float>(s);
      row.push_back(static_cast<double>(rounded) > s ? std::nextafter(rounded, 0.0F) : rounded);
    }
  }
  return row;
}

int64_t LayoutGraph::SpreadOnward(std::span<double> costs, double scale) const {
  int64_t work = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Arc& arc : arcs_) {
      const double seconds = costs[arc.from] + scale * arc.seconds;
      if (seconds >= costs[arc.to]) continue;
      costs[arc.to] = seconds;
      changed = true;
    }
    work += static_cast<int64_t>(arcs_.size());
  }
  return work;
}

int64_t LayoutGraph::SpreadBack(std::span<double> costs, double scale) const {
  int64_t work = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (auto arc = arcs_.rbegin(); arc != arcs_.rend(); ++arc) {
      const double seconds = costs[arc->to] + scale * arc->seconds;
      if (seconds >= costs[arc->from]) continue;
      costs[arc->from] = seconds;
      changed = true;
    }
    work += static_cast<int64_t>(arcs_.size());
  }
  return work;
}

}  // namespace sbp
