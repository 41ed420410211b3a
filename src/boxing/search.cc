#include "boxing/search.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "cluster/collective_kind.h"
#include "cost/collective.h"
#include "cost/cost.h"
#include "graph/tensor_type.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

double BytesPerElement(const TensorType& type) { return DTypeBits(type.dtype) / 8.0; }

// `bytes`: of `from` on the axis.
double StepSeconds(const BoxingWorld& world, const TensorType& type, CollectiveKind kind, const NdSbp& from,
                   const NdSbp& to, int axis, double bytes) {
  const double runs = world.asks_runs ? RunBytes(type, from, to, world.mesh, axis) : 0;
  return CollectiveTime(world.cluster, kind, world.mesh.size(axis), world.groups[axis], bytes, runs);
}

double StepWireBytes(const BoxingWorld& world, const TensorType& type, CollectiveKind kind, const NdSbp& from,
                     int axis) {
  const int64_t n = world.mesh.size(axis);
  return WireBytes(kind, n, AllGroupsBytes(type, from, world.mesh, axis)) * static_cast<double>(n);
}

// The first row of the table that is legal.
const CollectiveRow* FindRow(const NdSbp& from, const NdSbp& to, int axis) {
  for (const CollectiveRow& row : AllCollectives()) {
    if (row.legal(from, to, axis)) return &row;
  }
  return nullptr;
}

// ValidateLayout without making a message: most layouts that a search meets are looked at once.
bool IsValidFor(const BoxingWorld& world, const Shape& shape, const NdSbp& sbp) {
  std::array<int64_t, kMaxRank> least;
  if (shape.size() > least.size()) return false;
  std::copy(shape.begin(), shape.end(), least.begin());
  std::optional<Sbp> partial;
  for (int axis = 0; axis < sbp.size(); ++axis) {
    if (sbp[axis].is_partial()) {
      if (partial && *partial != sbp[axis]) return false;
      partial = sbp[axis];
    }
    if (!sbp[axis].is_split()) continue;
    const int64_t parts = world.mesh.size(axis);
    if (sbp[axis].dim() >= static_cast<int>(shape.size())) return false;
    int64_t& size = least[sbp[axis].dim()];
    if (size < parts || (world.even_only && size % parts != 0)) return false;
    size /= parts;
  }
  return true;
}

}  // namespace

bool AsksRuns(const Cluster& cluster) {
  return std::ranges::any_of(cluster.samples,
                             [](const CollectiveSample& sample) { return sample.alone || sample.run_bytes > 0; });
}

double GroupBytes(const TensorType& type, const NdSbp& sbp, const Mesh& mesh, int axis) {
  std::array<int64_t, kMaxRank> local;
  const size_t rank = std::min(type.shape.size(), local.size());
  std::copy_n(type.shape.begin(), rank, local.begin());
  for (int other = 0; other < sbp.size(); ++other) {
    if (other == axis || !sbp[other].is_split()) continue;
    int64_t& size = local[sbp[other].dim()];
    size = CeilDiv(size, mesh.size(other));
  }
  double bytes = BytesPerElement(type);
  for (size_t d = 0; d < rank; ++d) bytes *= static_cast<double>(local[d]);
  return bytes;
}

double RunBytes(const TensorType& type, const NdSbp& from, const NdSbp& to, const Mesh& mesh, int axis) {
  std::array<int64_t, kMaxRank> piece;  // what one rank has of another's part
  const int rank = static_cast<int>(std::min(type.shape.size(), piece.size()));
  std::copy_n(type.shape.begin(), rank, piece.begin());
  const auto cut = [&](const NdSbp& layout, int a) {
    if (layout[a].is_split() && layout[a].dim() < rank) {
      int64_t& size = piece[static_cast<size_t>(layout[a].dim())];
      size = CeilDiv(size, mesh.size(a));
    }
  };
  for (int other = 0; other < from.size(); ++other) {
    if (other != axis) cut(from, other);
  }
  cut(from, axis);
  cut(to, axis);
  double shortest = 0;
  for (const NdSbp* layout : {&from, &to}) {
    if (!(*layout)[axis].is_split() || (*layout)[axis].dim() >= rank) continue;
    double outer = 1, run = BytesPerElement(type);
    for (int d = 0; d < rank; ++d)
      (d < (*layout)[axis].dim() ? outer : run) *= static_cast<double>(piece[static_cast<size_t>(d)]);
    if (outer > 1 && (shortest == 0 || run < shortest)) shortest = run;
  }
  return shortest;
}

double AllGroupsBytes(const TensorType& type, const NdSbp& sbp, const Mesh& mesh, int axis) {
  // Splits, even or not, cut the tensor into parts that add up to it; other axes hold it as often as they are large.
  double bytes = BytesPerElement(type);
  for (int64_t size : type.shape) bytes *= static_cast<double>(size);
  for (int other = 0; other < sbp.size(); ++other) {
    if (other != axis && !sbp[other].is_split()) bytes *= static_cast<double>(mesh.size(other));
  }
  return bytes;
}

std::optional<BoxingStep> FindStep(const BoxingWorld& world, const TensorType& type, const NdSbp& from, const NdSbp& to,
                                   int axis) {
  const CollectiveRow* row = FindRow(from, to, axis);
  if (row == nullptr) return std::nullopt;
  BoxingStep step;
  step.kind = row->kind;
  step.axis = axis;
  step.from = from;
  step.to = to;
  step.tensor_bytes = GroupBytes(type, from, world.mesh, axis);
  step.wire_bytes = StepWireBytes(world, type, row->kind, from, axis);
  step.seconds = StepSeconds(world, type, row->kind, from, to, axis, step.tensor_bytes);
  return step;
}

LayoutSpace::LayoutSpace(std::vector<std::vector<Sbp>> choices) : choices_(std::move(choices)) {
  strides_.resize(choices_.size());
  for (size_t axis = choices_.size(); axis-- > 0;) {
    std::sort(choices_[axis].begin(), choices_[axis].end());
    choices_[axis].erase(std::unique(choices_[axis].begin(), choices_[axis].end()), choices_[axis].end());
    strides_[axis] = size_;
    size_ *= choices_[axis].size();
  }
}

NdSbp LayoutSpace::layout(size_t number) const {
  NdSbp sbp;
  for (size_t axis = 0; axis < choices_.size(); ++axis) {
    sbp.push_back(choices_[axis][number / strides_[axis] % choices_[axis].size()]);
  }
  return sbp;
}

std::optional<size_t> LayoutSpace::number(const NdSbp& sbp) const {
  size_t number = 0;
  for (size_t axis = 0; axis < choices_.size(); ++axis) {
    const auto at = std::lower_bound(choices_[axis].begin(), choices_[axis].end(), sbp[static_cast<int>(axis)]);
    if (at == choices_[axis].end() || *at != sbp[static_cast<int>(axis)]) return std::nullopt;
    number += static_cast<size_t>(at - choices_[axis].begin()) * strides_[axis];
  }
  return number;
}

size_t LayoutSpace::Replace(size_t number, int axis, size_t choice) const {
  const size_t now = number / strides_[axis] % choices_[axis].size();
  return number + choice * strides_[axis] - now * strides_[axis];
}

const std::vector<LegalArc>& LegalArcs::From(uint32_t number) {
  Known& known = known_[number];
  if (std::exchange(known.asked, true)) return known.arcs;
  const NdSbp from = space_.layout(number);
  for (int axis = 0; axis < space_.num_axes(); ++axis) {
    const std::vector<Sbp>& choices = space_.choices(axis);
    NdSbp to = from;
    for (size_t choice = 0; choice < choices.size(); ++choice) {
      if (choices[choice] == from[axis]) continue;
      to[axis] = choices[choice];
      const CollectiveRow* row = FindRow(from, to, axis);
      if (row == nullptr) continue;
      known.arcs.push_back({.to = static_cast<uint32_t>(space_.Replace(number, axis, choice)),
                            .axis = static_cast<uint8_t>(axis),
                            .entry = choices[choice],
                            .kind = row->kind});
    }
  }
  return known.arcs;
}

size_t BoxingArcs::most() const {
  size_t of_layout = 0;
  for (int axis = 0; axis < space().num_axes(); ++axis) of_layout += space().choices(axis).size();
  return space().size() * of_layout;
}

bool BoxingArcs::IsValid(const BoxingWorld& world, const TensorType& type, uint32_t number) {
  Validity& validity = validity_[number];
  if (validity == Validity::kUnknown)
    validity = IsValidFor(world, type.shape, space().layout(number)) ? Validity::kYes : Validity::kNo;
  return validity == Validity::kYes;
}

std::span<const BoxingArc> BoxingArcs::From(const BoxingWorld& world, const TensorType& type, uint32_t number) {
  Range& range = ranges_[number];
  if (range.end > 0) return {arcs_.data() + range.begin, arcs_.data() + range.end};
  range.begin = arcs_.size();
  const NdSbp from = space().layout(number);
  int axis = -1;
  double bytes = 0;  // on the axis
  for (const LegalArc& arc : legal_->From(number)) {
    if (!IsValid(world, type, arc.to)) continue;
    if (arc.axis != axis) {
      axis = arc.axis;
      bytes = GroupBytes(type, from, world.mesh, axis);
    }
    NdSbp to = from;
    to[axis] = arc.entry;
    const double price = world.criterion == BoxingCriterion::kSeconds
                             ? StepSeconds(world, type, arc.kind, from, to, axis, bytes)
                             : StepWireBytes(world, type, arc.kind, from, axis);
    arcs_.push_back({price, arc.to, arc.axis, arc.entry, RowOf(arc.kind).local || world.mesh.size(axis) == 1});
  }
  range.end = arcs_.size();
  return {arcs_.data() + range.begin, arcs_.data() + range.end};
}

CheapestPaths::CheapestPaths(const LayoutSpace& space, size_t from, const NdSbp& partials)
    : partials_(partials), ways_(space.size()) {
  ways_[from].price = 0;
  frontier_.push({0, 0, static_cast<uint32_t>(from)});
}

void CheapestPaths::Leave(const Reach& here, std::span<const BoxingArc> arcs) {
  const Way from = ways_[here.number];
  for (const BoxingArc& arc : arcs) {
    if (arc.entry.is_partial() && arc.entry != partials_[arc.axis]) continue;
    Way& way = ways_[arc.to];
    const double price = here.price + arc.price;
    const uint32_t steps = here.steps + 1;
    if (price > way.price) continue;
    const bool is_less = price < way.price || steps < way.steps;
    if (!is_less && (steps > way.steps || here.number >= way.before)) continue;
    way = {.price = price,
           .local_price = from.local_price + (arc.local ? arc.price : 0),
           .before = here.number,
           .steps = steps,
           .local = from.local && arc.local,
           .settled = way.settled};
    if (is_less) frontier_.push({price, steps, arc.to});
  }
}

bool CheapestPaths::Reaches(const BoxingWorld& world, const TensorType& type, BoxingArcs& arcs, size_t target,
                            double most) {
  while (!ways_[target].settled && !frontier_.empty() && frontier_.top().price <= most) {
    const Reach here = frontier_.top();
    frontier_.pop();
    Way& way = ways_[here.number];
    if (way.settled) continue;  // a dearer way, pushed earlier
    way.settled = true;
    Leave(here, arcs.From(world, type, here.number));
  }
  return ways_[target].settled;
}

std::vector<uint32_t> CheapestPaths::To(const BoxingWorld& world, const TensorType& type, BoxingArcs& arcs,
                                        size_t target) {
  std::vector<uint32_t> path;
  if (!Reaches(world, type, arcs, target)) return path;
  for (auto number = static_cast<uint32_t>(target); number != kNoLayout; number = ways_[number].before)
    path.push_back(number);
  return path;
}

BoxingPrice CheapestPaths::PriceTo(const BoxingWorld& world, const TensorType& type, BoxingArcs& arcs, size_t target) {
  if (!Reaches(world, type, arcs, target)) return kUnreachable;
  const Way& way = ways_[target];
  return {.local = way.local != 0, .seconds = way.price, .local_seconds = way.local_price};
}

double CheapestPaths::SecondsTo(const BoxingWorld& world, const TensorType& type, BoxingArcs& arcs, size_t target,
                                double most) {
  if (Reaches(world, type, arcs, target, most)) return ways_[target].price;
  return frontier_.empty() ? kUnreachable.seconds : frontier_.top().price;
}

namespace {

// One axis becomes `to`.
struct AxisChange {
  int axis;
  Sbp to;
};

// The path of these changes; unreachable where no collective does one of them.
BoxingPath PathOf(const BoxingWorld& world, const TensorType& type, const NdSbp& from,
                  const std::vector<AxisChange>& changes) {
  BoxingPath path;
  NdSbp now = from;
  for (const AxisChange& change : changes) {
    if (now[change.axis] == change.to) continue;
    NdSbp next = now;
    next[change.axis] = change.to;
    const std::optional<BoxingStep> step = FindStep(world, type, now, next, change.axis);
    if (!step || !IsValidFor(world, type.shape, next)) {
      path.reachable = false;
      return path;
    }
    path.steps.push_back(*step);
    path.seconds += step->seconds;
    path.wire_bytes += step->wire_bytes;
    now = next;
  }
  return path;
}

}  // namespace

BoxingPath CheapestOfOrders(const BoxingWorld& world, const TensorType& type, const NdSbp& from, const NdSbp& to) {
  const int axes = from.size();
  std::vector<std::vector<AxisChange>> orders(4);
  for (int axis = 0; axis < axes; ++axis) orders[0].push_back({axis, to[axis]});
  orders[1].assign(orders[0].rbegin(), orders[0].rend());
  for (const bool all : {false, true}) {
    std::vector<AxisChange>& order = orders[all ? 3 : 2];
    for (int axis = axes - 1; axis >= 0; --axis) {
      if (all || from[axis] != to[axis]) order.push_back({axis, Sbp::Broadcast()});
    }
    for (int axis = 0; axis < axes; ++axis) order.push_back({axis, to[axis]});
  }
  BoxingPath best;
  best.reachable = false;
  const auto price = [&](const BoxingPath& path) {
    return std::pair(world.criterion == BoxingCriterion::kSeconds ? path.seconds : path.wire_bytes, path.steps.size());
  };
  for (const std::vector<AxisChange>& order : orders) {
    BoxingPath path = PathOf(world, type, from, order);
    if (path.reachable && (!best.reachable || price(path) < price(best))) best = std::move(path);
  }
  return best;
}

BoxingPath PathAlong(const BoxingWorld& world, const TensorType& type, const LayoutSpace& space,
                     const std::vector<uint32_t>& backwards) {
  BoxingPath path;
  path.reachable = !backwards.empty();
  for (size_t i = backwards.size(); i > 1; --i) {
    const NdSbp a = space.layout(backwards[i - 1]);
    const NdSbp b = space.layout(backwards[i - 2]);
    int axis = 0;
    while (a[axis] == b[axis]) ++axis;
    path.steps.push_back(*FindStep(world, type, a, b, axis));
    path.seconds += path.steps.back().seconds;
    path.wire_bytes += path.steps.back().wire_bytes;
  }
  return path;
}

}  // namespace sbp
