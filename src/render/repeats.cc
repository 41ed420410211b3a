#include "render/repeats.h"

#include <algorithm>

namespace sbp {
namespace {

// equal[i]: how many positions from i on equal the ones `period` later.
void EqualRuns(std::span<const uint64_t> hashes, size_t period, std::vector<uint32_t>& equal) {
  const size_t n = hashes.size();
  equal.assign(n, 0);
  for (size_t i = n - period; i-- > 0;) {
    if (hashes[i] == hashes[i + period]) equal[i] = (i + 1 < n - period ? equal[i + 1] : 0) + 1;
  }
}

}  // namespace

std::vector<Repeat> FindRepeats(std::span<const uint64_t> hashes, size_t max_period) {
  const size_t n = hashes.size();
  std::vector<Repeat> best(n);
  std::vector<uint32_t> equal;
  for (size_t period = 1; period <= std::min(max_period, n / 2); ++period) {
    EqualRuns(hashes, period, equal);
    for (size_t i = 0; i + 2 * period <= n; ++i) {
      const size_t copies = equal[i] / period + 1;
      if (copies < 2) continue;
      const size_t covered = best[i].copies < 2 ? 0 : best[i].copies * best[i].period;
      if (copies * period > covered) best[i] = {i, period, copies};
    }
  }
  std::vector<Repeat> repeats;
  for (size_t i = 0; i < n;) {
    if (best[i].copies < 2) {
      ++i;
      continue;
    }
    // A short repeat must not eat the first items of a longer one that starts within it: "A A B A A B".
    size_t start = i;
    for (size_t j = i + 1; j < i + best[i].period * best[i].copies && j < n; ++j) {
      const auto covers = [&](size_t k) { return best[k].copies < 2 ? 0 : best[k].copies * best[k].period; };
      if (covers(j) > 2 * covers(start)) start = j;
    }
    repeats.push_back(best[start]);
    i = start + best[start].period * best[start].copies;
  }
  return repeats;
}

}  // namespace sbp
