// The layouts of one tensor type as a sparse graph: an arc is one collective on one mesh axis. The price of boxing from
// one layout to another is a shortest path, so the least over all pairs of layouts, of a cost at either end and the
// boxing between them, takes a few sweeps over the arcs and no table of pairs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "boxing/search.h"
#include "graph/tensor_type.h"
#include "problem/problem.h"
#include "sbp/sbp.h"

namespace sbp {

class LayoutGraph {
 public:
  // How many layouts and arcs a graph may have at most: what making it takes.
  static int64_t SizeOf(const TensorType& type, int num_axes, size_t num_kinds);

  // All layouts of `type` whose partial values are of `kinds`. No path is dearer than that of problem.boxing, weighted
  // as PriceWeights has `sent` and `local`.
  LayoutGraph(const Problem& problem, const TensorType& type, std::span<const Sbp> kinds, double sent = 1,
              double local = 1);

  size_t size() const { return space_.size(); }
  // Nothing when it is no layout of this type.
  std::optional<uint32_t> number(const NdSbp& layout) const;
  // Layouts without partial values, which inputs and parameters may start in.
  const std::vector<uint32_t>& whole() const { return whole_; }

  // costs[m] = least over l of costs[l] + scale * (seconds from l to m). Returns the arcs looked at.
  int64_t SpreadOnward(std::span<double> costs, double scale) const;
  // costs[l] = least over m of scale * (seconds from l to m) + costs[m].
  int64_t SpreadBack(std::span<double> costs, double scale) const;
  // To every layout, rounded down. Kept once asked for.
  std::span<const float> SecondsFrom(uint32_t layout) const;

 private:
  struct Arc {
    uint32_t from, to;
    double seconds;
  };
  LayoutGraph(const BoxingWorld& world, BoxingArcs& arcs, const TensorType& type, double sent, double local);

  LayoutSpace space_;
  std::vector<bool> valid_;
  std::vector<uint32_t> whole_;
  std::vector<Arc> arcs_;  // axis by axis, so that one sweep follows paths of several axes
  mutable std::vector<std::vector<float>> seconds_from_;
};

}  // namespace sbp
