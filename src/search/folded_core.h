// Equal layers, folded into one: nodes that look alike as far as a few edges around them choose alike. The folded core
// is a fraction of the whole one; a choice there is one of the whole at the same cost (unless it is forbidden). It is
// no reduction: the best choice of the whole may treat equal layers differently, and bounds of the folded core hold for
// it alone. But both its choices and its dual are good ones to begin with.
//
// An edge from a layer to the next one may join two members of one folded node. For choices it is a cost of that node,
// as both choose alike. For the dual that would say too much: messages of the whole cannot say it. With `twins` it is
// an edge to a further node that is to choose the same; then the dual of the folded core is one of the whole, at a
// bound that is no less.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "search/core.h"

namespace sbp {

struct FoldedCore {
  Core core;
  std::vector<int32_t> node_of;   // per node of the whole: of `core`
  std::vector<int32_t> edge_of;   // per edge of the whole: of `core`, its ends in the same order; -1: within one node
  std::vector<int32_t> twin_of;   // per node of `core`: which one it is to choose alike with; itself if it is no twin
  std::vector<double> copies_of;  // per edge of `core`: how many of the whole it stands for
  std::vector<int32_t> step_of;   // per step of the whole: of `core`; -1: none, what it would say follows from others
  std::vector<double> steps_of;   // per step of `core`: how many of the whole it stands for

  // The choice of the whole that a choice of `core` stands for.
  std::vector<int32_t> Unfold(std::span<const int32_t> choice) const;
  // A choice of `core` from one that has no twins.
  std::vector<int32_t> WithTwins(std::span<const int32_t> choice) const;
};

enum class Twins : bool { kNone, kForEdgesWithin };

// None where the whole is small, where too few nodes look alike, or where no choice of the folded core fits.
std::optional<FoldedCore> Fold(const Core& whole, Twins twins);

}  // namespace sbp
