#include "strategy/optimal/layout_graph.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked_math.h"
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

LayoutGraph::LayoutGraph(const Problem& problem, const TensorType& type, const std::vector<Sbp>& kinds)
    : space_(ChoicesOf(problem, type, kinds)), valid_(space_.size()) {
  std::vector<GroupShape> groups;
  for (int axis = 0; axis < problem.mesh.num_axes(); ++axis) groups.push_back(problem.boxing->axis_group(axis));
  const BoxingWorld world{problem.mesh, problem.boxing->cluster(), groups, problem.even_only};
  EdgePrices prices(space_);
  std::vector<NdSbp> layouts;
  for (uint32_t l = 0; l < space_.size(); ++l) {
    layouts.push_back(space_.layout(l));
    valid_[l] = ValidateLayout(type.shape, layouts[l], problem.mesh, problem.even_only).ok();
    if (valid_[l] && !layouts[l].has_partial()) whole_.push_back(l);
  }
  for (int axis = 0; axis < space_.num_axes(); ++axis) {
    const std::vector<Sbp>& choices = space_.choices(axis);
    for (uint32_t l = 0; l < space_.size(); ++l) {
      for (size_t choice = 0; valid_[l] && choice < choices.size(); ++choice) {
        if (choices[choice] == layouts[l][axis]) continue;
        const double seconds = prices.Price(world, type, l, layouts[l], axis, choice);
        if (!std::isinf(seconds)) {
          arcs_.push_back({l, static_cast<uint32_t>(space_.Replace(l, axis, choice)), seconds});
        }
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
