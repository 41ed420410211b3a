// Equal layers, folded into one: nodes that look alike as far as a few edges around them choose alike. The folded core
// is a fraction of the whole one; a choice there is one of the whole at the same cost (unless it is forbidden). It is
// no reduction: the best choice of the whole may treat equal layers differently, and bounds of the folded core hold for
// it alone. But both its choices and its dual are good ones to begin with.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "search/core.h"

namespace sbp {

struct FoldedCore {
  Core core;                      // memory is left out
  std::vector<int32_t> node_of;   // per node of the whole: of `core`
  std::vector<int32_t> edge_of;   // per edge of the whole: of `core`, its ends in the same order; -1: within one node
  std::vector<double> copies_of;  // per edge of `core`: how many of the whole it stands for

  // The choice of the whole that a choice of `core` stands for.
  std::vector<int32_t> Unfold(std::span<const int32_t> choice) const;
};

// None where memory counts, where the whole is small, or where too few nodes look alike.
std::optional<FoldedCore> Fold(const Core& whole);

}  // namespace sbp
