#include "search/priced_memory.h"

#include <cmath>
#include <numeric>
#include <utility>

namespace sbp {

PricedMemory::PricedMemory(Core& core, std::span<const double> prices)
    : core_(core), nodes_(core.nodes), limits_(std::exchange(core.limits, {})) {
  std::vector<double> sum(prices.size() + 1, 0);  // of the prices before a step
  std::partial_sum(prices.begin(), prices.end(), sum.begin() + 1);
  for (Core::Node& node : core.nodes) {
    for (const Core::Hold& hold : node.holds) {
      const double price = sum[hold.end] - sum[hold.begin];
      for (size_t a = 0; a < node.costs.size(); ++a) node.costs[a] += std::floor(price * hold.usages[a]);
    }
    node.holds.clear();
  }
}

PricedMemory::~PricedMemory() {
  core_.nodes = std::move(nodes_);
  core_.limits = std::move(limits_);
}

}  // namespace sbp
