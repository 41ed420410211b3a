#include "fusion/group_drafts.h"

#include <algorithm>

#include "graph/each_operand.h"
#include "graph/tensor_type.h"

namespace sbp {
namespace {

using Kind = OpTraits::Kind;
constexpr int kMostSeen = 512;        // ops that one look back sees
constexpr int kMostSeenBefore = 128;  // of those before what it asks about

}  // namespace

GroupDrafts::GroupDrafts(const Graph& graph, const RuleSet& rules)
    : graph_(graph),
      uses_(BuildUses(graph)),
      runs_(graph),
      traits_(TraitsOfOps(graph, rules)),
      kept_(graph.tensors.size(), false),
      free_(graph.ops.size(), false),
      group_of_(graph.ops.size(), -1),
      flop_factor_(graph.ops.size(), 1),
      op_seen_(graph.ops.size(), 0) {
  for (const TensorId output : graph.outputs) kept_[output.index()] = true;
  for (const Tie& tie : graph.ties) kept_[tie.output.index()] = true;
  FindFree();
}

// From the last op to the first: are all who read a result, moves passed through, such as absorb moves? Convolutions
// read and write what lies in memory by strides, and nothing else.
void GroupDrafts::FindFree() {
  std::vector<bool> absorbed(graph_.tensors.size(), false), convolved(graph_.tensors.size(), false);
  for (size_t o = graph_.ops.size(); o-- > 0;) {
    const Op& op = graph_.ops[o];
    bool all = true;
    for (const TensorId result : op.outputs) {
      if (!result.valid()) continue;
      const auto [begin, end] = uses_.of(result);
      bool is_convolved = false;
      const bool ok = !kept_[result.index()] && begin != end && std::all_of(begin, end, [&](const Use& use) {
        const OpTraits& reader = traits_[use.op.index()];
        is_convolved = is_convolved || reader.convolves;
        if (reader.kind == Kind::kLight || reader.kind == Kind::kContraction) return true;
        const bool passes = reader.kind == Kind::kView || reader.kind == Kind::kMove;
        return passes && std::ranges::all_of(graph_.op(use.op).outputs, [&](TensorId next) {
                 if (!next.valid()) return true;
                 is_convolved = is_convolved || convolved[next.index()];
                 return static_cast<bool>(absorbed[next.index()]);
               });
      });
      convolved[result.index()] = is_convolved;
      absorbed[result.index()] = ok && !(is_convolved && traits_[o].spreads);
      all = all && absorbed[result.index()];
    }
    if (traits_[o].kind == Kind::kView) free_[o] = true;
    if (traits_[o].kind == Kind::kMove && all) free_[o] = true;
  }
  for (size_t o = 0; o < graph_.ops.size(); ++o) {  // behind a contraction, which writes as it is asked to
    const Op& op = graph_.ops[o];
    if (traits_[o].kind != Kind::kMove || free_[o] || op.inputs.empty() || !op.inputs[0].valid()) continue;
    const TensorId operand = op.inputs[0];
    OpId producer = graph_.tensor(operand).producer;
    while (producer.valid() && free_[producer.index()] && !graph_.op(producer).inputs.empty())
      producer = graph_.tensor(graph_.op(producer).inputs[0]).producer;
    const auto [begin, end] = uses_.of(operand);
    const bool alone = end - begin == 1 && op.outputs.size() == 1 && count(op.outputs[0]) == count(operand);
    if (!alone || !producer.valid()) continue;
    const OpTraits& maker = traits_[producer.index()];
    free_[o] = maker.kind == Kind::kContraction && !(maker.convolves && traits_[o].spreads);
  }
}

int32_t GroupDrafts::New(uint32_t op, GroupKind kind) {
  groups_.push_back({.kind = kind, .space = SpaceOf(op)});
  group_seen_.push_back(0);
  const auto group = static_cast<int32_t>(groups_.size()) - 1;
  Put(op, group);
  return group;
}

void GroupDrafts::Put(uint32_t op, int32_t group) {
  GroupDraft& draft = groups_[group];
  group_of_[op] = group;
  draft.ops.push_back(op);
  draft.first = std::min(draft.first, op);
  draft.last = std::max(draft.last, op);
  const OpTraits& traits = traits_[op];
  if (traits.reduces) draft.rows = traits.rows;
  draft.exponentiates = draft.exponentiates || traits.exponentiates;
  draft.sums = draft.sums || traits.sums;
  draft.joins = draft.joins || traits.joins;
}

void GroupDrafts::TakeOut(uint32_t op) {
  GroupDraft& draft = groups_[group_of_[op]];
  std::erase(draft.ops, op);
  group_of_[op] = -1;
  draft.first = draft.ops.empty() ? ~0u : *std::ranges::min_element(draft.ops);
  draft.last = draft.ops.empty() ? 0 : *std::ranges::max_element(draft.ops);
}

int64_t GroupDrafts::SpaceOf(uint32_t op) const {
  int64_t space = 0;
  for (const std::vector<TensorId>* list : {&graph_.ops[op].inputs, &graph_.ops[op].outputs}) {
    for (const TensorId tensor : *list) space = tensor.valid() ? std::max(space, count(tensor)) : space;
  }
  return space;
}

bool GroupDrafts::ReentersGroup(uint32_t op, int32_t group) {
  for (const TensorId operand : graph_.ops[op].inputs) {
    const OpId producer = operand.valid() ? graph_.tensor(operand).producer : OpId();
    if (!producer.valid() || group_of_[producer.index()] == group) continue;
    if (DependsOnGroups({producer.value}, group, group)) return true;
  }
  return false;
}

bool GroupDrafts::ReentersBoth(int32_t group, int32_t other) {
  std::vector<uint32_t> before;
  for (const int32_t own : {group, other}) {
    for (const uint32_t op : groups_[own].ops) {
      EachOperand(graph_.ops[op], [&](TensorId operand) {
        const OpId producer = graph_.tensor(operand).producer;
        if (!producer.valid()) return;
        const int32_t from = group_of_[producer.index()];
        if (from != group && from != other) before.push_back(producer.value);
      });
    }
  }
  return DependsOnGroups(before, group, other);
}

void GroupDrafts::Merge(int32_t into, int32_t from) {
  const GroupDraft taken = std::move(groups_[from]);
  groups_[from] = {.kind = taken.kind};
  groups_[into].space = std::max(groups_[into].space, taken.space);
  for (const uint32_t op : taken.ops) Put(op, into);
}

// Backwards, every other group entered as a whole. Ops before the groups depend on them only where another group
// reaches from there to behind their beginning: of those a few are looked at, which finds circles that are not long.
bool GroupDrafts::DependsOnGroups(const std::vector<uint32_t>& ops, int32_t group, int32_t other) {
  const uint32_t first = std::min(groups_[group].first, groups_[other].first);
  ++look_;
  int left = kMostSeen, left_before = kMostSeenBefore;
  std::vector<uint32_t> open;
  const auto see = [&](uint32_t seen) {
    if (op_seen_[seen] == look_) return;
    op_seen_[seen] = look_;
    open.push_back(seen);
  };
  for (const uint32_t op : ops) see(op);
  while (!open.empty()) {
    const uint32_t next = open.back();
    open.pop_back();
    const int32_t own = group_of_[next];
    if (own >= 0 && (own == group || own == other)) return true;
    if (own >= 0 && group_seen_[own] != look_) {
      group_seen_[own] = look_;
      for (const uint32_t member : groups_[own].ops) see(member);
    }
    if (next < first && --left_before < 0) continue;
    if (next >= first && --left == 0) return true;
    EachOperand(graph_.ops[next], [&](TensorId operand) {
      if (graph_.tensor(operand).producer.valid()) see(graph_.tensor(operand).producer.value);
    });
  }
  return false;
}

}  // namespace sbp
