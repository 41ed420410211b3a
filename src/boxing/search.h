// The search for the cheapest path between layouts: Dijkstra over layouts, an edge is one collective on one mesh axis.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "boxing/boxing.h"

namespace sbp {

// Bytes of the tensor on a group of `axis`: the largest group, and all groups of the mesh together (copies and partial
// values counted as often as they are held).
double GroupBytes(const TensorType& type, const NdSbp& sbp, const Mesh& mesh, int axis);
double AllGroupsBytes(const TensorType& type, const NdSbp& sbp, const Mesh& mesh, int axis);

// What prices depend on besides the tensor. References must outlive the search.
struct BoxingWorld {
  const Mesh& mesh;
  const Cluster& cluster;
  const std::vector<GroupShape>& groups;  // per axis
  bool even_only = false;
  BoxingCriterion criterion = BoxingCriterion::kSeconds;
};

// The step of the first row of the table that may go from `from` to `to`; they differ on `axis` only.
std::optional<BoxingStep> FindStep(const BoxingWorld& world, const TensorType& type, const NdSbp& from, const NdSbp& to,
                                   int axis);

// A set of layouts: on each mesh axis one of a few choices. A layout's number has the last axis as its fastest digit.
class LayoutSpace {
 public:
  explicit LayoutSpace(std::vector<std::vector<Sbp>> choices);
  size_t size() const { return size_; }
  int num_axes() const { return static_cast<int>(choices_.size()); }
  NdSbp layout(size_t number) const;
  // Nothing when the layout is not in the set.
  std::optional<size_t> number(const NdSbp& sbp) const;
  const std::vector<Sbp>& choices(int axis) const { return choices_[axis]; }
  // The number that differs from `number` on `axis`, where it takes choice `choice`.
  size_t Replace(size_t number, int axis, size_t choice) const;

 private:
  std::vector<std::vector<Sbp>> choices_;
  std::vector<size_t> strides_;
  size_t size_ = 1;
};

// What each change of one axis of each layout of a space costs, worked out when first asked for: searches from
// different layouts ask for the same ones.
class EdgePrices {
 public:
  explicit EdgePrices(LayoutSpace space);
  const LayoutSpace& space() const { return space_; }
  size_t num_prices() const { return prices_.size(); }
  // By the world's criterion; infinite when no collective may do it or the layout it leads to is invalid.
  double Price(const BoxingWorld& world, const TensorType& type, size_t number, const NdSbp& from, int axis,
               size_t choice);

 private:
  LayoutSpace space_;
  std::vector<size_t> first_slot_;  // per axis: slots are (axis, choice)
  size_t num_slots_ = 0;
  std::vector<double> prices_;  // by layout, then slot; NaN: not yet asked for
};

inline constexpr uint32_t kNoLayout = 0xffffffff;

// For each layout of the space the one before it on the cheapest path from `from` (kNoLayout: unreached, or `from`). An
// axis becomes partial only as `partials` has it. Stops early once `target` is settled, if one is given.
std::vector<uint32_t> CheapestTree(const BoxingWorld& world, const TensorType& type, EdgePrices& edges, size_t from,
                                   const NdSbp& partials, std::optional<size_t> target);

// Where a search would be too dear (many axes that all change): the cheapest of a few orders in which the axes go
// straight to where they shall be, or those that change, or all, become B first. The last is always possible.
BoxingPath CheapestOfOrders(const BoxingWorld& world, const TensorType& type, const NdSbp& from, const NdSbp& to);

// The path along a tree.
BoxingPath PathAlong(const BoxingWorld& world, const TensorType& type, const LayoutSpace& space,
                     const std::vector<uint32_t>& tree, size_t from, size_t to);

}  // namespace sbp
