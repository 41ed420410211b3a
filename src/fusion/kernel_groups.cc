#include "fusion/kernel_groups.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/hash.h"
#include "base/ids.h"
#include "fusion/attention.h"
#include "fusion/group_drafts.h"
#include "fusion/lone_ops.h"
#include "fusion/op_traits.h"
#include "graph/adopt.h"
#include "graph/tensor_type.h"
#include "naming/module_index.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

using Kind = OpTraits::Kind;
using End = OpFusion::End;
constexpr size_t kMostJoined = 8;     // parts that TorchInductor joins in the kernel of who reads them
constexpr size_t kMostReadAnew = 4;   // operands of what TorchInductor makes where it is read (realize_reads_threshold)
constexpr size_t kMostMadeAnew = 30;  // ops of that
constexpr int64_t kLongestRow = int64_t{1} << 18;  // elements that one block of a device reduces and reads again

// Per op: does it stand in a scope that the options name?
std::vector<bool> SeenByCompiler(const Graph& graph, const FusionOptions& options) {
  std::vector<bool> seen(graph.ops.size(), options.scopes.empty());
  if (options.scopes.empty()) return seen;
  const std::vector<std::string_view> scopes = AdoptScopes(graph);
  std::unordered_map<std::string_view, bool> known;
  for (size_t o = 0; o < seen.size(); ++o) {
    const auto [entry, is_new] = known.try_emplace(scopes[o]);
    if (is_new) {
      entry->second = std::ranges::any_of(
          options.scopes, [&](const std::string& pattern) { return !NamedAbove(pattern, scopes[o]).empty(); });
    }
    seen[o] = entry->second;
  }
  return seen;
}

class Fuser {
 public:
  Fuser(const Graph& graph, const RuleSet& rules, const FusionOptions& options)
      : graph_(graph), drafts_(graph, rules), seen_(SeenByCompiler(graph, options)), epilogue_(options.epilogue) {}

  Fusion Run() {
    if (graph_.ops.empty()) return {};  // all folded: nothing runs, and plan files hold no groups
    for (uint32_t op = 0; op < graph_.ops.size(); ++op) Place(op);
    JoinAttention(drafts_);
    JoinAllReaders();
    JoinLoneOps(seen_, drafts_);
    Number();
    FindInside();
    Describe();
    return std::move(fusion_);
  }

 private:
  void Place(uint32_t op) {
    if (!seen_[op]) return;
    if (drafts_.is_free(op)) {
      const int32_t group = GroupOfOperand(op, 0);
      if (group >= 0) drafts_.Put(op, group);
      return;
    }
    const Kind kind = drafts_.traits(op).kind;
    if (kind == Kind::kContraction && epilogue_) drafts_.New(op, GroupKind::kEpilogue);
    if (kind != Kind::kLight && kind != Kind::kMove) return;
    for (const size_t i : LargestFirst(op)) {
      const int32_t group = GroupOfOperand(op, i);
      if (group < 0 || !MayJoin(op, group)) continue;
      drafts_.Put(op, group);
      drafts_.at(group).space = std::max(drafts_.at(group).space, drafts_.SpaceOf(op));
      if (drafts_.at(group).kind == GroupKind::kLight) TakeIn(op, group);
      return;
    }
    drafts_.New(op, GroupKind::kLight);
  }

  // The op's operands that are there.
  std::vector<size_t> LargestFirst(uint32_t op) const {
    const std::vector<TensorId>& operands = graph_.ops[op].inputs;
    std::vector<size_t> order;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].valid()) order.push_back(i);
    }
    std::ranges::stable_sort(order, std::greater<>(), [&](size_t i) { return drafts_.count(operands[i]); });
    return order;
  }

  int32_t GroupOfOperand(uint32_t op, size_t operand) const {
    const std::vector<TensorId>& operands = graph_.ops[op].inputs;
    if (operand >= operands.size() || !operands[operand].valid()) return -1;
    const OpId producer = graph_.tensor(operands[operand]).producer;
    return producer.valid() ? drafts_.group(producer.value) : -1;
  }

  bool MayJoin(uint32_t op, int32_t group) {
    const GroupDraft& draft = drafts_.at(group);
    const OpTraits& traits = drafts_.traits(op);
    const int64_t space = drafts_.SpaceOf(op);
    if (space == 0 || draft.space == 0) return false;
    if (draft.space % space != 0 && !(space % draft.space == 0 && draft.rows == 0 && IsPointwiseJoin(op))) return false;
    if (traits.reduces && (traits.rows < 0 || (draft.rows != 0 && draft.rows != traits.rows))) return false;
    if (draft.rows < 0 || (draft.rows > 0 && draft.space / draft.rows > kLongestRow)) return false;
    return drafts_.runs(op) == drafts_.runs(draft.first) && drafts_.phase(op) == drafts_.phase(draft.first) &&
           !drafts_.ReentersGroup(op, group);
  }

  // A join of few parts that light ops alone read makes each number of a part where they read it, and one whose parts
  // are made by light ops for it alone is one kernel with these.
  bool IsPointwiseJoin(uint32_t op) const {
    const std::vector<TensorId>& parts = graph_.ops[op].inputs;
    if (!drafts_.traits(op).joins || parts.size() > kMostJoined) return false;
    const TensorId result = graph_.ops[op].outputs[0];
    const auto [begin, end] = drafts_.uses().of(result);
    const auto is_light = [&](const Use& use) { return drafts_.traits(use.op.value).kind == Kind::kLight; };
    const auto is_made_for_it = [&](TensorId part) {
      const OpId producer = part.valid() ? graph_.tensor(part).producer : OpId();
      const auto [first, last] = drafts_.uses().of(part);
      if (!producer.valid() || drafts_.is_kept(part)) return false;
      return drafts_.traits(producer.value).kind == Kind::kLight && last - first == 1;
    };
    return (!drafts_.is_kept(result) && std::all_of(begin, end, is_light)) ||
           std::ranges::all_of(parts, is_made_for_it);
  }

  // The other groups that the op reads become one with its own where one of both reads nothing from memory but what the
  // other reads or makes: such a branch begins a kernel only because of the order in which a model is spelled.
  void TakeIn(uint32_t op, int32_t group) {
    for (size_t i = 0; i < graph_.ops[op].inputs.size(); ++i) {
      const int32_t other = GroupOfOperand(op, i);
      if (other >= 0 && other != group && MayMerge(group, other)) drafts_.Merge(group, other);
    }
  }

  bool MayMerge(int32_t group, int32_t other) {
    const GroupDraft &a = drafts_.at(group), &b = drafts_.at(other);
    if (a.ops.size() + b.ops.size() > kMostMerged) return false;
    if (b.kind != GroupKind::kLight || a.space == 0 || b.space == 0 || a.rows < 0 || b.rows < 0) return false;
    if (a.space != b.space && !(a.joins && b.rows == 0 && a.space % b.space == 0)) return false;
    if (a.rows > 0 && b.rows > 0 && a.rows != b.rows) return false;
    if (const int64_t rows = std::max(a.rows, b.rows); rows > 0 && a.space / rows > kLongestRow) return false;
    if (drafts_.runs(b.first) != drafts_.runs(a.first) || drafts_.phase(b.first) != drafts_.phase(a.first))
      return false;
    return (ReadsOnlyAs(group, other) || ReadsOnlyAs(other, group) || IsInlined(other, group)) &&
           !drafts_.ReentersBoth(group, other);
  }

  // Tensors as they are read first: they have other numbers in a plan's file.
  void JoinAllReaders() {
    std::vector<bool> done(graph_.tensors.size(), false);
    for (const Op& op : graph_.ops) {
      for (const std::vector<TensorId>* list : {&op.inputs, &op.captures}) {
        for (const TensorId tensor : *list) {
          if (!tensor.valid() || done[tensor.index()]) continue;
          done[tensor.index()] = true;
          JoinReaders(tensor);
        }
      }
    }
  }

  // Light groups that read the tensor, if it is large, become one on the same terms, though neither reads what the
  // other makes: an activation that is computed again and its derivative, which read the same.
  void JoinReaders(TensorId tensor) {
    const auto [begin, end] = drafts_.uses().of(tensor);
    int32_t into = -1;
    for (auto use = begin; use != end; ++use) {
      const int32_t group = drafts_.group(use->op.value);
      if (group < 0 || group == into || drafts_.at(group).kind != GroupKind::kLight) continue;
      if (drafts_.count(tensor) * kSmallPart <= drafts_.at(group).space) continue;
      if (into >= 0 && MayMerge(into, group)) {
        drafts_.Merge(into, group);
      } else {
        into = group;
      }
    }
  }

  // Is it in memory whoever makes it anew?
  bool IsWrittenAnyway(TensorId tensor) const {
    if (drafts_.is_kept(tensor)) return true;
    const auto [begin, end] = drafts_.uses().of(tensor);
    return std::any_of(begin, end, [&](const Use& use) {
      return drafts_.traits(use.op.value).kind != Kind::kLight && !Shares(graph_.tensor(tensor).producer, use.op);
    });
  }

  // A light op elsewhere makes anew what it reads, where that takes element-wise ops of a light kernel and operands of
  // no more bytes: who made it first need not write it for that. What is read instead counts as much as what is not.
  // TorchInductor inlines so, and where up to so many operands are more bytes (realize_reads_threshold), which saves
  // little.
  bool MakesAnew(TensorId tensor, OpId reader) const {
    const OpId producer = graph_.tensor(tensor).producer;
    if (!seen_[reader.value] || drafts_.traits(reader.value).kind != Kind::kLight) return false;
    const int32_t group = fusion_.groups.of_op[producer.index()];
    if (group < 0 || fusion_.groups.groups[group].kind != GroupKind::kLight) return false;
    if (drafts_.runs(producer.value) != drafts_.runs(reader.value) ||
        drafts_.phase(producer.value) != drafts_.phase(reader.value))
      return false;
    const int64_t small = drafts_.count(tensor) / kSmallPart;
    int64_t bytes_left = graph_.tensor(tensor).type.num_bytes();
    std::vector<uint32_t> made = {producer.value};
    std::vector<TensorId> read;
    for (size_t next = 0; next < made.size(); ++next) {
      const OpTraits& traits = drafts_.traits(made[next]);
      if (traits.reduces || traits.kind > Kind::kLight) return false;
      for (const TensorId operand : graph_.ops[made[next]].inputs) {
        if (!operand.valid() || drafts_.count(operand) <= small) continue;
        const OpId made_by = graph_.tensor(operand).producer;
        const bool is_inside = made_by.valid() && fusion_.groups.of_op[made_by.index()] == group;
        if (!is_inside || IsWrittenAnyway(operand)) {
          if (std::ranges::find(read, operand) != read.end()) continue;
          read.push_back(operand);
          bytes_left -= graph_.tensor(operand).type.num_bytes();
        } else if (std::ranges::find(made, made_by.value) == made.end()) {
          made.push_back(made_by.value);
        }
      }
      if (bytes_left < 0 || read.size() > kMostReadAnew || made.size() > kMostMadeAnew) return false;
    }
    return true;
  }

  // Does the group write, number by number, nothing but what the other reads, where one of them joins parts? A join is
  // made where it is read, and parts are made where they are joined (halves of a rotary embedding).
  bool IsInlined(int32_t group, int32_t reader) {
    if (!drafts_.at(group).joins && !drafts_.at(reader).joins) return false;
    if (drafts_.at(group).rows != 0) return false;
    const auto stays = [&](const Use& use) {
      const int32_t own = drafts_.group(use.op.value);
      return own == group || own == reader;
    };
    return std::ranges::all_of(drafts_.at(group).ops, [&](uint32_t op) {
      return std::ranges::all_of(graph_.ops[op].outputs, [&](TensorId result) {
        if (!result.valid()) return true;
        const auto [begin, end] = drafts_.uses().of(result);
        return !drafts_.is_kept(result) && std::all_of(begin, end, stays);
      });
    });
  }

  // Does the group read nothing but single numbers, what is small beside what it makes (a number a row, a column), and
  // what the other group reads or makes?
  bool ReadsOnlyAs(int32_t group, int32_t other) {
    const int64_t small = std::max<int64_t>(1, drafts_.at(group).space / kSmallPart);
    const auto is_known = [&](TensorId operand) {
      if (!operand.valid() || drafts_.count(operand) <= small) return true;
      const OpId producer = graph_.tensor(operand).producer;
      const int32_t from = producer.valid() ? drafts_.group(producer.value) : -1;
      if (from == group || from == other) return true;
      return std::ranges::any_of(drafts_.at(other).ops, [&](uint32_t op) {
        const std::vector<TensorId>& read = graph_.ops[op].inputs;
        return std::ranges::find(read, operand) != read.end();
      });
    };
    return std::ranges::all_of(drafts_.at(group).ops,
                               [&](uint32_t op) { return std::ranges::all_of(graph_.ops[op].inputs, is_known); });
  }

  // Those of two kernels and more, by their first ops.
  void Number() {
    std::vector<int32_t> order;
    for (size_t g = 0; g < drafts_.groups().size(); ++g) {
      const auto& ops = drafts_.groups()[g].ops;
      if (std::ranges::count_if(ops, [&](uint32_t op) { return !drafts_.is_free(op); }) > 1)
        order.push_back(static_cast<int32_t>(g));
    }
    std::ranges::sort(order, {}, [&](int32_t g) { return drafts_.groups()[g].first; });
    KernelGroups& groups = fusion_.groups;
    groups.of_op.assign(graph_.ops.size(), -1);
    for (uint32_t op = 0; op < graph_.ops.size(); ++op) groups.no_kernel.push_back(drafts_.is_free(op));
    forward_.assign(order.size(), -1);
    std::unordered_map<int32_t, int32_t> number;
    for (const int32_t g : order) {
      const GroupDraft& draft = drafts_.groups()[g];
      const auto next = static_cast<int32_t>(groups.groups.size());
      number[g] = next;
      KernelGroup& group = groups.groups.emplace_back(KernelGroup{.kind = draft.kind, .ops = {}});
      for (const uint32_t op : draft.ops) {
        group.ops.emplace_back(op);
        groups.of_op[op] = next;
      }
      std::ranges::sort(group.ops);
      if (draft.forward >= 0) forward_[next] = number.at(draft.forward);
    }
  }

  // Do the two ends share a kernel, or does the reader's compute again what the producer's made?
  bool Shares(OpId producer, OpId reader) const {
    const int32_t from = fusion_.groups.of_op[producer.index()], to = fusion_.groups.of_op[reader.index()];
    return from >= 0 && to >= 0 && (from == to || forward_[to] == from);
  }

  void FindInside() {
    std::vector<bool>& inside = fusion_.groups.inside;
    inside.assign(graph_.tensors.size(), false);
    for (size_t o = graph_.ops.size(); o-- > 0;) {
      for (const TensorId result : graph_.ops[o].outputs) {
        if (!result.valid() || drafts_.is_kept(result)) continue;
        const auto [begin, end] = drafts_.uses().of(result);
        inside[result.index()] = begin != end && std::all_of(begin, end, [&](const Use& use) {
                                   if (!Shares(OpId(o), use.op)) return MakesAnew(result, use.op);
                                   const std::vector<TensorId>& next = graph_.op(use.op).outputs;
                                   return !drafts_.is_free(use.op.value) || std::ranges::all_of(next, [&](TensorId t) {
                                     return !t.valid() || inside[t.index()];
                                   });
                                 });
      }
    }
  }

  // The first op of what is joined to the op so far; paths are halved.
  uint32_t PartOf(uint32_t op) {
    while (part_[op] != op) op = part_[op] = part_[part_[op]];
    return op;
  }

  // Joins the op to the parts of its group that it reads; true where an operand is the first to reach one.
  std::vector<bool> Join(uint32_t op) {
    std::vector<bool> joins;
    for (const size_t i : LargestFirst(op)) {
      const OpId producer = graph_.tensor(graph_.ops[op].inputs[i]).producer;
      if (!producer.valid() || fusion_.groups.of_op[producer.index()] != fusion_.groups.of_op[op]) continue;
      const uint32_t part = PartOf(producer.value);
      if (part == PartOf(op)) continue;
      part_[PartOf(op)] = part;
      joins.resize(graph_.ops[op].inputs.size());
      joins[i] = true;
    }
    return joins;
  }

  void Describe() {
    part_.resize(graph_.ops.size());
    std::iota(part_.begin(), part_.end(), 0);
    std::unordered_map<size_t, std::vector<uint32_t>> by_hash;
    std::unordered_set<uint64_t> read;  // pairs of group and tensor
    for (uint32_t op = 0; op < graph_.ops.size(); ++op) {
      const OpFusion kind = KindOf(op, read);
      size_t hash = HashCombine(kind.no_kernel, kind.launches);
      hash = HashCombine(hash, kind.in_masked);
      for (const std::vector<End>* list : {&kind.operands, &kind.results}) {
        for (const End end : *list) hash = HashCombine(hash, static_cast<size_t>(end));
      }
      std::vector<uint32_t>& alike = by_hash[hash];
      const auto known = std::ranges::find_if(alike, [&](uint32_t k) { return fusion_.kinds[k] == kind; });
      if (known == alike.end()) {
        alike.push_back(static_cast<uint32_t>(fusion_.kinds.size()));
        fusion_.kind_of.push_back(alike.back());
        fusion_.kinds.push_back(kind);
      } else {
        fusion_.kind_of.push_back(*known);
      }
    }
  }

  // Does a light op of the group read from memory what has a value for each pair of a query and a key?
  bool ReadsMask(int32_t group) {
    const auto [entry, is_new] = reads_mask_.try_emplace(group, false);
    if (!is_new) return entry->second;
    const std::vector<OpId>& ops = fusion_.groups.groups[group].ops;
    const auto is_light = [&](OpId op) { return drafts_.traits(op.value).kind != Kind::kContraction; };
    const TensorType* scores = nullptr;
    for (const OpId op : ops) {
      if (!is_light(op)) continue;
      for (const TensorId id : graph_.op(op).outputs) {
        if (!id.valid()) continue;
        const TensorType& type = graph_.tensor(id).type;
        if (scores == nullptr || type.num_elements() > scores->num_elements()) scores = &type;
      }
    }
    if (scores == nullptr || scores->rank() < 2) return false;
    const auto is_mask = [&](TensorId id) {
      if (!id.valid() ||
          (graph_.tensor(id).producer.valid() && fusion_.groups.of_op[graph_.tensor(id).producer.index()] == group))
        return false;
      const Shape& shape = graph_.tensor(id).type.shape;
      return shape.size() >= 2 && shape.back() == scores->shape.back() && shape[shape.size() - 2] > 1;
    };
    for (const OpId op : ops) {
      entry->second = entry->second || (is_light(op) && std::ranges::any_of(graph_.op(op).inputs, is_mask));
    }
    return entry->second;
  }

  OpFusion KindOf(uint32_t o, std::unordered_set<uint64_t>& read) {
    const Kind kind = drafts_.traits(o).kind;
    OpFusion fusion{.no_kernel = drafts_.is_free(o), .anchor = kind == Kind::kContraction || kind == Kind::kAnchor};
    const int32_t group = fusion_.groups.of_op[o];
    if (group < 0) return fusion;
    fusion.launches = true;
    for (const OpId other : fusion_.groups.groups[group].ops) {
      if (drafts_.is_free(other.value)) continue;
      fusion.launches = other.value == o;  // the first that runs a kernel
      break;
    }
    std::vector<bool> joins = Join(o);
    if (!fusion.no_kernel) fusion.joins = std::move(joins);
    fusion.flop_factor = drafts_.flop_factor(o);
    const GroupKind group_kind = fusion_.groups.groups[group].kind;
    fusion.in_attention = group_kind == GroupKind::kAttention || group_kind == GroupKind::kAttentionBackward;
    fusion.in_backward = group_kind == GroupKind::kAttentionBackward;
    fusion.in_masked = fusion.in_attention && ReadsMask(group);
    const Op& op = graph_.ops[o];
    for (const std::vector<TensorId>* list : {&op.inputs, &op.captures}) {
      for (const TensorId operand : *list) {
        End& end = fusion.operands.emplace_back(End::kOutside);
        if (!operand.valid() || fusion.no_kernel) {
          if (operand.valid() && graph_.tensor(operand).producer.valid() &&
              Shares(graph_.tensor(operand).producer, OpId(o)))
            end = End::kInside;
          continue;
        }
        const OpId producer = graph_.tensor(operand).producer;
        if (producer.valid() && Shares(producer, OpId(o))) {
          end = End::kInside;
        } else if (!read.insert(uint64_t{operand.value} << 32 | static_cast<uint32_t>(group)).second) {
          end = End::kRepeated;
        }
      }
    }
    for (const TensorId result : op.outputs) {
      fusion.results.push_back(result.valid() && fusion_.groups.inside[result.index()] ? End::kInside : End::kOutside);
    }
    return fusion;
  }

  const Graph& graph_;
  GroupDrafts drafts_;
  std::vector<bool> seen_;
  bool epilogue_;
  std::vector<int32_t> forward_;  // per group
  std::unordered_map<int32_t, bool> reads_mask_;
  std::vector<uint32_t> part_;  // per op: one that is joined to it, or itself
  Fusion fusion_;
};

}  // namespace

Fusion FuseOps(const Graph& graph, const RuleSet& rules, const FusionOptions& options) {
  return Fuser(graph, rules, options).Run();
}

std::vector<std::string> ScopesNotFound(const Graph& graph, const FusionOptions& options) {
  std::vector<std::string> lost;
  for (const std::string& pattern : options.scopes) {
    const std::vector<bool> seen = SeenByCompiler(graph, {.scopes = {pattern}});
    if (std::ranges::none_of(seen, std::identity())) lost.push_back(pattern);
  }
  return lost;
}

}  // namespace sbp
