#include "search/memory_prices.h"

#include <algorithm>
#include <cstddef>

namespace sbp {

std::vector<MemoryPrice> PricesOfNetwork(std::span<const double> multipliers, const Core& core, double unit) {
  std::vector<MemoryPrice> prices;
  for (size_t step = 0; step < multipliers.size(); ++step) {
    if (multipliers[step] > 0) prices.push_back({core.times[step], multipliers[step] / core.scale * unit});
  }
  return prices;
}

std::vector<double> PricesOfCore(std::span<const MemoryPrice> prices, const Core& core, double unit) {
  std::vector<double> multipliers(core.limits.size(), 0);
  if (core.times.empty()) return multipliers;
  for (const MemoryPrice& price : prices) {
    auto nearest = std::ranges::lower_bound(core.times, price.time);
    const bool is_behind = nearest == core.times.end() ||
                           (nearest != core.times.begin() && price.time - *(nearest - 1) < *nearest - price.time);
    if (is_behind) --nearest;
    multipliers[static_cast<size_t>(nearest - core.times.begin())] += price.price / unit * core.scale;
  }
  return multipliers;
}

}  // namespace sbp
