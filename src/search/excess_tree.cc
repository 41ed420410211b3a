#include "search/excess_tree.h"

#include <algorithm>

namespace sbp {

void ExcessTree::Add(int32_t begin, int32_t end, double more) {
  size_t left = LeafOf(static_cast<size_t>(begin)) - 1, right = LeafOf(static_cast<size_t>(end));
  for (; (left ^ right) != 1; left /= 2, right /= 2) {
    if (left % 2 == 0) Grow(left + 1, more);
    if (right % 2 == 1) Grow(right - 1, more);
    Settle(left / 2);
    Settle(right / 2);
  }
  for (size_t part = left / 2; part > 0; part /= 2) Settle(part);
}

double ExcessTree::Most(int32_t begin, int32_t end) const {
  size_t left = LeafOf(static_cast<size_t>(begin)) - 1, right = LeafOf(static_cast<size_t>(end));
  double on_left = kNone, on_right = kNone;
  for (; (left ^ right) != 1; left /= 2, right /= 2) {
    if (left % 2 == 0) on_left = std::max(on_left, most_[left + 1]);
    if (right % 2 == 1) on_right = std::max(on_right, most_[right - 1]);
    on_left += grown_[left / 2];
    on_right += grown_[right / 2];
  }
  double most = std::max(on_left, on_right);
  for (size_t part = left / 2; part > 0; part /= 2) most += grown_[part];
  return most;
}

double ExcessTree::AboveOf(size_t part, size_t begin, size_t end, Leaves range, double more) const {
  if (range.end <= begin || end <= range.begin || most_[part] + more <= 0) return 0;
  if (part >= leaves_) return most_[part] + more;
  const size_t middle = begin + (end - begin) / 2;
  return AboveOf(2 * part, begin, middle, range, more + grown_[part]) +
         AboveOf(2 * part + 1, middle, end, range, more + grown_[part]);
}

}  // namespace sbp
