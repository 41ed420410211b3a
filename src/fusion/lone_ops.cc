#include "fusion/lone_ops.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "base/ids.h"
#include "fusion/op_traits.h"
#include "graph/graph.h"
#include "graph/kernel_groups.h"

namespace sbp {
namespace {

class LoneOps {
 public:
  LoneOps(const std::vector<bool>& seen, GroupDrafts& drafts) : graph_(drafts.graph()), seen_(seen), drafts_(drafts) {}

  void Run() {
    for (uint32_t op = 0; op < graph_.ops.size(); ++op) {
      if (IsAlone(op) && ReducesColumns(op)) JoinMakers(op);
    }
    for (uint32_t op = 0; op < graph_.ops.size(); ++op) {
      if (IsAlone(op) && IsElementwise(op)) JoinReader(op);
    }
  }

 private:
  bool IsAlone(uint32_t op) const {
    return seen_[op] && drafts_.group(op) >= 0 && drafts_.at(drafts_.group(op)).ops.size() == 1 &&
           drafts_.traits(op).kind == OpTraits::Kind::kLight;
  }
  bool ReducesColumns(uint32_t op) const { return drafts_.traits(op).reduces && drafts_.traits(op).rows < 0; }
  bool IsElementwise(uint32_t op) const { return !drafts_.traits(op).reduces && !drafts_.traits(op).joins; }

  // May the op, alone, become part of the group?
  bool MayJoin(uint32_t op, int32_t group) {
    if (group < 0 || group == drafts_.group(op) || drafts_.at(group).kind != GroupKind::kLight) return false;
    const GroupDraft& draft = drafts_.at(group);
    return draft.ops.size() < kMostMerged && draft.space == drafts_.SpaceOf(op) &&
           drafts_.runs(op) == drafts_.runs(draft.first) && drafts_.phase(op) == drafts_.phase(draft.first) &&
           !drafts_.ReentersBoth(group, drafts_.group(op));
  }

  // The group that makes the op's largest operand.
  int32_t MakerOf(uint32_t op) const {
    TensorId largest;
    for (const TensorId operand : graph_.ops[op].inputs) {
      if (operand.valid() && (!largest.valid() || drafts_.count(operand) > drafts_.count(largest))) largest = operand;
    }
    const OpId producer = largest.valid() ? graph_.tensor(largest).producer : OpId();
    return producer.valid() ? drafts_.group(producer.value) : -1;
  }

  bool IsReadBy(int32_t group, TensorId tensor) const {
    const auto [begin, end] = drafts_.uses().of(tensor);
    return std::any_of(begin, end, [&](const Use& use) { return drafts_.group(use.op.value) == group; });
  }

  void JoinMakers(uint32_t op) {
    const int32_t group = MakerOf(op);
    if (!MayJoin(op, group)) return;
    int64_t columns = 0;
    for (const TensorId result : graph_.ops[op].outputs) {
      if (result.valid() && IsReadBy(group, result)) return;
      if (result.valid()) columns = drafts_.count(result);
    }
    const auto known = columns_.find(group);
    if (known == columns_.end() ? drafts_.at(group).rows != 0 : known->second != columns) return;
    columns_[group] = columns;
    drafts_.Merge(group, drafts_.group(op));
  }

  void JoinReader(uint32_t op) {
    const std::vector<TensorId>& results = graph_.ops[op].outputs;
    if (results.size() != 1 || !results[0].valid() || drafts_.is_kept(results[0])) return;
    const auto [begin, end] = drafts_.uses().of(results[0]);
    const auto is_light = [&](const Use& use) {
      return seen_[use.op.value] && drafts_.traits(use.op.value).kind == OpTraits::Kind::kLight;
    };
    if (begin == end || !std::all_of(begin, end, is_light) || ReadsMoreThanItMakes(op)) return;
    const int32_t group = drafts_.group(begin->op.value);
    if (MayJoin(op, group)) drafts_.Merge(group, drafts_.group(op));
  }

  bool ReadsMoreThanItMakes(uint32_t op) const {
    int64_t bytes = 0;
    for (const TensorId operand : graph_.ops[op].inputs) {
      if (operand.valid()) bytes += graph_.tensor(operand).type.num_bytes();
    }
    const int64_t made = graph_.tensor(graph_.ops[op].outputs[0]).type.num_bytes();
    return bytes > made + made / kSmallPart;
  }

  const Graph& graph_;
  const std::vector<bool>& seen_;
  GroupDrafts& drafts_;
  std::unordered_map<int32_t, int64_t> columns_;  // of groups that reduce columns: how many
};

}  // namespace

void JoinLoneOps(const std::vector<bool>& seen, GroupDrafts& drafts) { LoneOps(seen, drafts).Run(); }

}  // namespace sbp
