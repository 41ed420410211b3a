#include "search/folded_time.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/hash.h"

namespace sbp {

int32_t FoldedTime::Place(int32_t step) const {
  return static_cast<int32_t>(std::lower_bound(first.begin(), first.end(), step) - first.begin());
}

FoldedTime FoldTime(std::span<const HeldSpan> spans, std::span<const double> limits) {
  // The sum of a hash of each thing held does not depend on the order in which they came.
  std::vector<uint64_t> change(limits.size() + 1, 0);
  for (const HeldSpan& span : spans) {
    const uint64_t hash = HashCombine(1, static_cast<size_t>(span.what));
    change[span.begin] += hash;
    change[span.end] -= hash;
  }
  FoldedTime folded;
  std::map<std::pair<uint64_t, double>, int32_t> known;
  uint64_t held = 0;
  for (size_t step = 0; step < limits.size(); ++step) {
    held += change[step];
    const auto [entry, is_new] = known.try_emplace({held, limits[step]}, folded.size());
    if (is_new) {
      folded.first.push_back(static_cast<int32_t>(step));
      folded.copies.push_back(0);
    }
    folded.class_of.push_back(entry->second);
    ++folded.copies[entry->second];
  }
  return folded;
}

}  // namespace sbp
