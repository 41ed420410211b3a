#include "fusion/attention.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "fusion/op_traits.h"
#include "graph/graph.h"
#include "graph/kernel_groups.h"

namespace sbp {
namespace {

using Kind = OpTraits::Kind;

// Who reads what a group makes, moves without a kernel passed through; ascending, each once.
struct OuterReaders {
  std::vector<uint32_t> contractions;
  std::vector<int32_t> groups;  // light ones
  bool others = false;
};

// A contraction whose result enters a group of light ops, and the moves between.
struct Source {
  uint32_t op = 0;
  std::vector<uint32_t> moves;
};

class AttentionJoiner {
 public:
  explicit AttentionJoiner(GroupDrafts& drafts) : drafts_(drafts), graph_(drafts.graph()) {}

  void Run() {
    const auto count = static_cast<int32_t>(drafts_.groups().size());
    for (int32_t group = 0; group < count; ++group) {
      const GroupDraft& draft = drafts_.at(group);
      const bool softmax = draft.exponentiates && draft.sums && draft.rows > 0 && draft.rows < draft.space;
      if (softmax && draft.kind == GroupKind::kLight) Try(group);
    }
  }

 private:
  void Try(int32_t group) {
    const std::vector<Source> sources = SourcesOf(group, -1);
    const OuterReaders readers = ReadersOf(group);
    if (sources.empty() || readers.others || readers.contractions.empty()) return;
    if (sources.size() == 2) {  // the backward pass with its own softmax
      if (readers.groups.empty() && Join(group, sources, readers.contractions))
        drafts_.at(group).kind = GroupKind::kAttentionBackward;
      return;
    }
    if (sources.size() > 2 || readers.groups.size() > 1) return;
    std::vector<Source> gradient;
    OuterReaders ends;
    const int32_t backward = readers.groups.empty() ? -1 : readers.groups.front();
    if (backward >= 0) {
      if (drafts_.at(backward).kind != GroupKind::kLight || drafts_.at(backward).space != drafts_.at(group).space)
        return;
      gradient = SourcesOf(backward, group);
      ends = ReadersOf(backward);
      if (gradient.size() != 1 || ends.others || !ends.groups.empty() || ends.contractions.empty()) return;
    }
    if (backward >= 0 && JoinAll(group, sources[0], backward, gradient[0], readers.contractions, ends.contractions))
      return;
    const uint32_t context = readers.contractions.front();
    if (!Join(group, sources, {context})) return;
    drafts_.at(group).kind = GroupKind::kAttention;
    if (backward < 0) return;
    std::vector<uint32_t> behind(readers.contractions.begin() + 1, readers.contractions.end());
    behind.insert(behind.end(), ends.contractions.begin(), ends.contractions.end());
    if (!Join(backward, gradient, behind)) {
      Leave(sources, {context});
      drafts_.at(group).kind = GroupKind::kLight;
      return;
    }
    drafts_.at(backward).kind = GroupKind::kAttentionBackward;
    drafts_.at(backward).forward = group;
    drafts_.flop_factor(gradient[0].op) =
        2;  // the scores once more, of which each costs as much as one of its gradient
  }

  // A backward pass that makes the scores again itself is one kernel with all that follows.
  bool JoinAll(int32_t group, const Source& scores, int32_t backward, const Source& gradient,
               const std::vector<uint32_t>& value_gradients, const std::vector<uint32_t>& ends) {
    const std::vector<uint32_t> moved = drafts_.at(backward).ops;
    for (const uint32_t op : moved) drafts_.TakeOut(op);
    for (const uint32_t op : moved) drafts_.Put(op, group);
    std::vector<uint32_t> behind = value_gradients;
    behind.insert(behind.end(), ends.begin(), ends.end());
    if (!Join(group, {scores, gradient}, behind)) {
      for (const uint32_t op : moved) drafts_.TakeOut(op);
      for (const uint32_t op : moved) drafts_.Put(op, backward);
      return false;
    }
    drafts_.at(group).kind = GroupKind::kAttentionBackward;
    return true;
  }

  // The contractions that tensors of the group's size come from, but those that come from `also` or from no op; none
  // where one comes from elsewhere, or where others read what a contraction makes.
  std::vector<Source> SourcesOf(int32_t group, int32_t also) const {
    const int64_t space = drafts_.at(group).space;
    std::vector<Source> sources;
    for (const uint32_t op : drafts_.at(group).ops) {
      for (const TensorId operand : graph_.ops[op].inputs) {
        if (!operand.valid() || drafts_.count(operand) != space) continue;
        std::vector<uint32_t> moves;
        OpId producer = graph_.tensor(operand).producer;
        while (producer.valid() && drafts_.is_free(producer.value) && drafts_.group(producer.value) < 0) {
          moves.push_back(producer.value);
          producer = graph_.tensor(graph_.op(producer).inputs[0]).producer;
        }
        if (!producer.valid()) continue;
        const int32_t from = drafts_.group(producer.value);
        if (from == group || (also >= 0 && from == also)) continue;
        const bool contracts = drafts_.traits(producer.value).kind == Kind::kContraction;
        if (from >= 0 || !contracts || graph_.op(producer).outputs.size() != 1) return {};
        auto known = std::ranges::find(sources, producer.value, &Source::op);
        if (known == sources.end()) known = sources.insert(known, {producer.value, {}});
        for (const uint32_t move : moves) {
          if (std::ranges::find(known->moves, move) == known->moves.end()) known->moves.push_back(move);
        }
      }
    }
    const bool alone = std::ranges::all_of(sources, [&](const Source& source) {
      return OnlyReadBy(graph_.ops[source.op].outputs[0], group, source.moves);
    });
    return alone ? sources : std::vector<Source>();
  }

  bool OnlyReadBy(TensorId tensor, int32_t group, const std::vector<uint32_t>& moves) const {
    if (drafts_.is_kept(tensor)) return false;
    const auto [begin, end] = drafts_.uses().of(tensor);
    return std::all_of(begin, end, [&](const Use& use) {
      if (drafts_.group(use.op.value) == group) return true;
      return std::ranges::find(moves, use.op.value) != moves.end() &&
             std::ranges::all_of(graph_.op(use.op).outputs,
                                 [&](TensorId next) { return !next.valid() || OnlyReadBy(next, group, moves); });
    });
  }

  OuterReaders ReadersOf(int32_t group) const {
    OuterReaders readers;
    for (const uint32_t op : drafts_.at(group).ops) {
      for (const TensorId result : graph_.ops[op].outputs) {
        if (result.valid()) AddReaders(result, group, readers);
      }
    }
    for (auto* list : {&readers.contractions}) {
      std::ranges::sort(*list);
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
    std::ranges::sort(readers.groups);
    readers.groups.erase(std::unique(readers.groups.begin(), readers.groups.end()), readers.groups.end());
    return readers;
  }

  void AddReaders(TensorId tensor, int32_t group, OuterReaders& readers) const {
    if (drafts_.is_kept(tensor)) readers.others = true;
    const auto [begin, end] = drafts_.uses().of(tensor);
    for (const Use* use = begin; use != end; ++use) {
      const uint32_t op = use->op.value;
      const int32_t own = drafts_.group(op);
      if (own == group) continue;
      const bool contracts = own < 0 && drafts_.traits(op).kind == Kind::kContraction;
      if (own >= 0 && drafts_.at(own).kind == GroupKind::kLight) {
        readers.groups.push_back(own);
      } else if (own < 0 && drafts_.is_free(op)) {
        for (const TensorId next : graph_.ops[op].outputs) {
          if (next.valid()) AddReaders(next, group, readers);
        }
      } else if (contracts) {
        readers.contractions.push_back(op);
      } else {
        readers.others = true;
      }
    }
  }

  // The group with what stands before it and behind it; false, and nothing changed, where a path would re-enter it.
  bool Join(int32_t group, const std::vector<Source>& sources, const std::vector<uint32_t>& behind) {
    for (const Source& source : sources) {
      drafts_.Put(source.op, group);
      for (const uint32_t move : source.moves) drafts_.Put(move, group);
    }
    for (const uint32_t op : behind) drafts_.Put(op, group);
    const std::vector<uint32_t> all = drafts_.at(group).ops;
    if (std::ranges::any_of(all, [&](uint32_t op) { return drafts_.ReentersGroup(op, group); })) {
      Leave(sources, behind);
      return false;
    }
    return true;
  }

  void Leave(const std::vector<Source>& sources, const std::vector<uint32_t>& behind) {
    for (const uint32_t op : behind) drafts_.TakeOut(op);
    for (const Source& source : sources) {
      for (const uint32_t move : source.moves) drafts_.TakeOut(move);
      drafts_.TakeOut(source.op);
    }
  }

  GroupDrafts& drafts_;
  const Graph& graph_;
};

}  // namespace

void JoinAttention(GroupDrafts& drafts) { AttentionJoiner(drafts).Run(); }

}  // namespace sbp
