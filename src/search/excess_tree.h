// How far something is above its limit at each step, where it grows over ranges of steps: a tree of the largest of 2^k
// steps each, in which what a whole part grew by is kept at its root.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace sbp {

// Ranges are [begin, end) of the steps, and not empty. Add and Most take time that grows with the logarithm of the
// number of steps.
class ExcessTree {
 public:
  // With nothing there, each step is below its limit by that.
  explicit ExcessTree(std::span<const double> limits)
      : leaves_(std::bit_ceil(limits.size() + 2)), most_(2 * leaves_, kNone), grown_(leaves_, 0) {
    for (size_t step = 0; step < limits.size(); ++step) most_[LeafOf(step)] = -limits[step];
    for (size_t part = leaves_; part-- > 1;) Settle(part);
  }

  void Add(int32_t begin, int32_t end, double more);
  // The largest excess of the steps; negative: below the limit.
  double Most(int32_t begin, int32_t end) const;
  // What lies above the limits, summed over the steps, if `more` were added there.
  double Above(int32_t begin, int32_t end, double more) const {
    const size_t first = LeafOf(static_cast<size_t>(begin)), behind = LeafOf(static_cast<size_t>(end));
    return AboveOf(1, 0, leaves_, {first - leaves_, behind - leaves_}, more);
  }

 private:
  static constexpr double kNone = -std::numeric_limits<double>::infinity();
  struct Leaves {
    size_t begin, end;
  };

  // One is left free at either end, so that the neighbours of each range are leaves.
  size_t LeafOf(size_t step) const { return leaves_ + 1 + step; }
  void Settle(size_t part) { most_[part] = std::max(most_[2 * part], most_[2 * part + 1]) + grown_[part]; }
  void Grow(size_t part, double more) {
    most_[part] += more;
    if (part < leaves_) grown_[part] += more;
  }
  double AboveOf(size_t part, size_t begin, size_t end, Leaves range, double more) const;

  size_t leaves_;              // of the tree; part p has the parts 2p and 2p + 1
  std::vector<double> most_;   // per part, but for what those above it grew by
  std::vector<double> grown_;  // per part above the leaves: as a whole
};

}  // namespace sbp
