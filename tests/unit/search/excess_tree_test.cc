// Against an array that each range is added to, step by step.
#include "search/excess_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace sbp {
namespace {

TEST(ExcessTree, IsAnArrayOfSteps) {
  std::mt19937_64 random(7);
  const auto below = [&](int64_t most) { return static_cast<int64_t>(random() % static_cast<uint64_t>(most)); };
  for (const int64_t steps : {1, 2, 3, 5, 14, 15, 16, 17, 100}) {
    std::vector<double> limits;
    for (int64_t step = 0; step < steps; ++step) limits.push_back(static_cast<double>(below(50)));
    ExcessTree tree(limits);
    std::vector<double> above;
    for (const double limit : limits) above.push_back(-limit);
    for (int tried = 0; tried < 200; ++tried) {
      const auto begin = static_cast<int32_t>(below(steps));
      const auto end = static_cast<int32_t>(begin + 1 + below(steps - begin));
      const auto more = static_cast<double>(below(40) - 15);
      double sum = 0;
      for (int32_t step = begin; step < end; ++step) sum += std::max(0.0, above[step] + more);
      EXPECT_EQ(tree.Above(begin, end, more), sum) << steps << " steps, " << begin << " to " << end;
      EXPECT_EQ(tree.Most(begin, end), *std::max_element(above.begin() + begin, above.begin() + end));
      tree.Add(begin, end, more);
      for (int32_t step = begin; step < end; ++step) above[step] += more;
      EXPECT_EQ(tree.Most(0, static_cast<int32_t>(steps)), *std::ranges::max_element(above));
    }
  }
}

}  // namespace
}  // namespace sbp
