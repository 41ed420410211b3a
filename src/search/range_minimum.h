// The least of any range of numbers, by tables of doubling width.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace sbp {

class RangeMinimum {
 public:
  explicit RangeMinimum(const std::vector<double>& numbers) : levels_{numbers} {
    for (size_t width = 1; 2 * width <= numbers.size(); width *= 2) {
      const std::vector<double>& half = levels_.back();
      std::vector<double> level(numbers.size() - 2 * width + 1);
      for (size_t i = 0; i < level.size(); ++i) level[i] = std::min(half[i], half[i + width]);
      levels_.push_back(std::move(level));
    }
  }
  // Of the numbers [begin, end), of which there is at least one.
  double Of(int32_t begin, int32_t end) const {
    const int level = std::bit_width(static_cast<uint32_t>(end - begin)) - 1;
    return std::min(levels_[level][begin], levels_[level][end - (int32_t{1} << level)]);
  }

 private:
  // levels_[k][i]: the least of the 2^k numbers from i on.
  std::vector<std::vector<double>> levels_;
};

}  // namespace sbp
