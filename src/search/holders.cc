#include "search/holders.h"

#include <algorithm>

namespace sbp {

std::vector<Holder> HoldersAt(const CostNetwork& network, std::span<const int32_t> choice, int64_t time) {
  std::vector<Holder> holders;
  for (size_t i = 0; i < network.nodes.size(); ++i) {
    const CostNetwork::Node& node = network.nodes[i];
    if (node.usages < 0 || time < node.begin || time >= node.end) continue;
    const int64_t usage = network.usages[node.usages][choice[i]];
    if (usage > 0) holders.push_back({static_cast<int32_t>(i), usage});
  }
  for (const CostNetwork::Hold& hold : network.further) {
    if (time < hold.begin || time >= hold.end) continue;
    const int64_t usage = network.usages[hold.usages][choice[hold.node]];
    if (usage > 0) holders.push_back({hold.node, usage});
  }
  std::stable_sort(holders.begin(), holders.end(), [](const Holder& a, const Holder& b) { return a.usage > b.usage; });
  return holders;
}

}  // namespace sbp
