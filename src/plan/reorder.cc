#include "plan/reorder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/kernel_groups.h"
#include "graph/reorder.h"

namespace sbp {
namespace {

KernelGroups Moved(KernelGroups kernels, std::span<const OpId> order, const std::vector<OpId>& new_id) {
  if (kernels.empty()) return kernels;
  for (KernelGroup& group : kernels.groups) {
    for (OpId& op : group.ops) op = new_id[op.index()];
    std::ranges::sort(group.ops);
  }
  std::ranges::sort(kernels.groups, {}, [](const KernelGroup& group) { return group.ops.front(); });
  std::ranges::fill(kernels.of_op, -1);
  for (size_t g = 0; g < kernels.groups.size(); ++g) {
    for (const OpId op : kernels.groups[g].ops) kernels.of_op[op.index()] = static_cast<int32_t>(g);
  }
  const std::vector<bool> no_kernel = kernels.no_kernel;
  for (size_t o = 0; o < no_kernel.size(); ++o) kernels.no_kernel[o] = no_kernel[order[o].index()];
  return kernels;
}

}  // namespace

Plan Reordered(const Plan& plan, std::span<const OpId> order) {
  Plan moved = plan;
  std::vector<OpId> new_id(order.size());
  for (size_t o = 0; o < order.size(); ++o) new_id[order[o].index()] = OpId(o);
  Reorder(order, moved.graph);
  moved.kernels = Moved(plan.kernels, order, new_id);
  for (size_t o = 0; o < order.size(); ++o) moved.op_records[o] = plan.op_records[order[o].index()];
  for (Transition& transition : moved.transitions) {
    for (Use& use : transition.consumers) use.op = new_id[use.op.index()];
    std::ranges::sort(transition.consumers, {}, [](const Use& use) { return std::pair(use.op, use.operand); });
    if (transition.ahead_of.valid()) transition.ahead_of = new_id[transition.ahead_of.index()];
  }
  for (InPlaceWrite& write : moved.in_place) write.op = new_id[write.op.index()];
  std::ranges::sort(moved.in_place, {}, [](const InPlaceWrite& write) { return std::pair(write.op, write.result); });
  if (moved.memory.peak_op.valid()) moved.memory.peak_op = new_id[moved.memory.peak_op.index()];
  moved.physical.reset();
  return moved;
}

}  // namespace sbp
