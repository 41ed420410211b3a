// Repeated windows of a sequence: layers of a model, found by equal hashes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sbp {

// Items [begin, begin + period * copies) are `copies` equal windows of `period` items.
struct Repeat {
  size_t begin = 0;
  size_t period = 1;
  size_t copies = 1;
  friend bool operator==(const Repeat&, const Repeat&) = default;
};

// Maximal, disjoint repeats with at least two copies, from the left: at each position the period that covers most
// items, the shortest one on a tie. `max_period` bounds the work: O(items x max_period).
std::vector<Repeat> FindRepeats(std::span<const uint64_t> hashes, size_t max_period);

}  // namespace sbp
