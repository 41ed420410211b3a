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
namespace {

std::vector<std::vector<Sbp>> ChoicesOf(const Problem& problem, const TensorType& type, const std::vector<Sbp>& kinds) {
  std::vector<std::vector<Sbp>> choices;
  for (int axis = 0; axis < problem.mesh.num_axes(); ++axis) {
    choices.push_back({Sbp::Broadcast()});
    if (type.kind != ValueKind::kTensor) continue;
    for (int dim = 0; dim < type.rank(); ++dim) choices.back().push_back(Sbp::Split(dim));
    choices.back().insert(choices.back().end(), kinds.begin(), kinds.end());
  }
  return choices;
}

}  // namespace

int64_t LayoutGraph::SizeOf(const TensorType& type, int num_axes, size_t num_kinds) {
  const int64_t choices = type.kind == ValueKind::kTensor ? 1 + type.rank() + static_cast<int64_t>(num_kinds) : 1;
  int64_t size = 1;
  for (int axis = 0; axis < num_axes; ++axis) size = SaturatingMul(size, choices);
  return SaturatingMul(size, choices * num_axes);
}

LayoutGraph::LayoutGraph(const Problem& problem, const TensorType& type, const std::vector<Sbp>& kinds, double sent,
                         double local)
    : space_(ChoicesOf(problem, type, kinds)), valid_(space_.size()) {
  std::vector<GroupShape> groups;
  for (int axis = 0; axis < problem.mesh.num_axes(); ++axis) groups.push_back(problem.boxing->axis_group(axis));
  const BoxingWorld world{problem.mesh, problem.boxing->cluster(), groups, problem.even_only};
  for (uint32_t l = 0; l < space_.size(); ++l) {
    const NdSbp layout = space_.layout(l);
    valid_[l] = ValidateLayout(type.shape, layout, problem.mesh, problem.even_only).ok();
    if (valid_[l] && !layout.has_partial()) whole_.push_back(l);
  }
  BoxingArcs arcs(space_);
  const auto is_local = [&](uint32_t from, const BoxingArc& arc) {
    if (sent == local) return true;
    const std::optional<BoxingStep> step = FindStep(world, type, space_.layout(from), space_.layout(arc.to), arc.axis);
    return step && RowOf(step->kind).local;
  };
  for (int axis = 0; axis < space_.num_axes(); ++axis) {
    for (uint32_t l = 0; l < space_.size(); ++l) {
      if (!valid_[l]) continue;
      for (const BoxingArc& arc : arcs.From(world, type, l)) {
        if (arc.axis == axis) arcs_.push_back({l, arc.to, arc.price * (is_local(l, arc) ? local : sent)});
      }
    }
  }
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
