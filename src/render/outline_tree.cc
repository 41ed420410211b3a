#include "render/outline_tree.h"

namespace sbp {

std::vector<uint32_t> Outline::OpsOf(uint32_t node) const {
  std::vector<uint32_t> ops;
  std::vector<OutlineItem> stack = {{false, node}};
  while (!stack.empty()) {
    const OutlineItem item = stack.back();
    stack.pop_back();
    if (item.is_op) {
      ops.push_back(item.index);
    } else {
      stack.insert(stack.end(), nodes[item.index].items.rbegin(), nodes[item.index].items.rend());
    }
  }
  return ops;
}

}  // namespace sbp
