#include "io/kernels_proto.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/text.h"
#include "graph/kernel_groups.h"
#include "io/utf8.h"

namespace sbp {
namespace {

namespace v1 = sbp_plan::v1;

constexpr GroupKind kAllKinds[] = {GroupKind::kLight, GroupKind::kEpilogue, GroupKind::kAttention,
                                   GroupKind::kAttentionBackward};

std::optional<GroupKind> ParseKind(std::string_view text) {
  const auto* found = std::ranges::find(kAllKinds, text, GroupKindName);
  return found == std::end(kAllKinds) ? std::nullopt : std::optional(*found);
}

Status ReadGroup(const v1::KernelGroup& message, const NameIndex& index, Plan& plan) {
  KernelGroups& kernels = plan.kernels;
  const auto number = static_cast<int32_t>(kernels.groups.size());
  KernelGroup& group = kernels.groups.emplace_back();
  const std::optional<GroupKind> kind = ParseKind(message.category());
  if (!kind) {
    std::vector<std::string> names;
    for (const GroupKind known : kAllKinds) names.emplace_back(GroupKindName(known));
    return BadInput(StrCat(Quote(message.category()), " is no kind of kernel group; expected ", Join(names, ", "),
                           DidYouMean(message.category(), names)));
  }
  group.kind = *kind;
  if (message.ops_size() < 2) return BadInput("a kernel group has two ops or more");
  for (const std::string& name : message.ops()) {
    const OpId op = index.op(name);
    if (!op.valid()) return BadInput(StrCat("the graph has no op ", Quote(name)));
    if (kernels.of_op[op.index()] >= 0) return BadInput(StrCat("op ", Quote(name), " stands in two groups"));
    kernels.of_op[op.index()] = number;
    group.ops.push_back(op);
  }
  std::ranges::sort(group.ops);
  return OkStatus();
}

}  // namespace

void KernelsToMessage(const Plan& plan, v1::Kernels& message) {
  for (const KernelGroup& group : plan.kernels.groups) {
    v1::KernelGroup& out = *message.add_groups();
    out.set_category(std::string(GroupKindName(group.kind)));
    for (const OpId op : group.ops) out.add_ops(ToUtf8(plan.graph.op(op).name));
  }
  for (size_t t = 0; t < plan.graph.tensors.size(); ++t) {
    if (plan.kernels.is_inside(TensorId(t))) message.add_inside(ToUtf8(plan.graph.tensors[t].name));
  }
  for (size_t o = 0; o < plan.graph.ops.size(); ++o) {
    if (plan.kernels.runs_no_kernel(OpId(o))) message.add_no_kernel(ToUtf8(plan.graph.ops[o].name));
  }
}

Status KernelsFromMessage(const v1::Kernels& message, const NameIndex& index, Plan& plan) {
  KernelGroups& kernels = plan.kernels;
  kernels.of_op.assign(plan.graph.ops.size(), -1);
  kernels.inside.assign(plan.graph.tensors.size(), false);
  kernels.no_kernel.assign(plan.graph.ops.size(), false);
  for (int i = 0; i < message.groups_size(); ++i)
    SBP_RETURN_IF_ERROR(ReadGroup(message.groups(i), index, plan).WithContext(StrCat("groups[", i, "]")));
  std::ranges::sort(kernels.groups, {}, [](const KernelGroup& group) { return group.ops.front(); });
  for (size_t g = 0; g < kernels.groups.size(); ++g) {
    for (const OpId op : kernels.groups[g].ops) kernels.of_op[op.index()] = static_cast<int32_t>(g);
  }
  for (const std::string& name : message.inside()) {
    const TensorId tensor = index.tensor(name);
    if (!tensor.valid()) return BadInput(StrCat("inside: the graph has no tensor ", Quote(name)));
    kernels.inside[tensor.index()] = true;
  }
  for (const std::string& name : message.no_kernel()) {
    const OpId op = index.op(name);
    if (!op.valid()) return BadInput(StrCat("no_kernel: the graph has no op ", Quote(name)));
    kernels.no_kernel[op.index()] = true;
  }
  return OkStatus();
}

}  // namespace sbp
