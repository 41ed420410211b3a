// Moments at which equal layers hold the same, as one: a step that runs 32 equal layers peaks 32 times alike, and what
// fits once fits each time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sbp {

// Something held over the steps [begin, end). What has one number is held alike: by members of one part, in one way.
struct HeldSpan {
  int32_t what = 0;
  int32_t begin = 0, end = 0;
};

struct FoldedTime {
  std::vector<int32_t> class_of;  // per step
  std::vector<int32_t> first;     // per class: its first step. Ascending
  std::vector<int32_t> copies;    // per class: how many steps it stands for

  int32_t size() const { return static_cast<int32_t>(first.size()); }
  // Where a span of the whole begins or ends among the classes: `first` of those before it is before that step.
  int32_t Place(int32_t step) const;
};

// Steps are of one class where each `what` is held equally often and `limits` (one per step) agree. Counts are compared
// by a hash of 64 bits: two steps that differ fall into one class by a chance that no caller may build a proof on.
// Linear in spans and steps, but for sorting.
FoldedTime FoldTime(std::span<const HeldSpan> spans, std::span<const double> limits);

}  // namespace sbp
