// What the nodes of a layout network hold, and when.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "base/checked_math.h"
#include "base/ids.h"
#include "graph/graph.h"
#include "graph/kernel_groups.h"
#include "memory/memory.h"
#include "problem/demands.h"
#include "rule/in_place.h"
#include "sbp/sbp.h"
#include "search/cost_network.h"
#include "strategy/optimal/held_times.h"
#include "strategy/optimal/layout_network.h"
#include "strategy/optimal/layout_network_builder.h"
#include "strategy/strategy.h"
#include "strategy/transitions.h"

namespace sbp {
namespace {

constexpr uint32_t kLeastWait = 3;  // ops without a reader: less is no time to hold less

}  // namespace

// A tensor is held from its producer to its last reader as it was written; where it has a hub that is smaller and
// that late readers read alone, as that. What lies in its operand's memory is held from where that is read no more.
// Copies beside a tensor are not counted.
//
// The relaxed network holds at most what a plan holds, so that a bound under a limit stays one: a tensor with a node is
// held as whatever is smallest of what may be left of it at some time; without a node, from the op behind its producer
// on, when it may be boxed for its only reader, as the least that the reader may want. What a tied output is boxed to
// at the end takes its place.
void LayoutNetworkBuilder::AddMemory() {
  const Graph& graph = *problem_.graph;
  const HeldTimes held = HeldTimesOf(problem_, relaxed_);
  const std::vector<NdSbp> initial = InitialSourceLayouts(problem_);
  std::vector<int64_t> change(problem_.num_ops() + 2, 0);  // of what is held whatever is chosen
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (unlisted_[t]) continue;
    const TensorId tensor(t);
    const Tensor& facts = graph.tensors[t];
    const int64_t first = std::min(held.firsts[t], held.lasts[t]), last = held.lasts[t];
    const auto found = shared_.find(tensor);
    Row written, hubs;
    int32_t node;
    if (found != shared_.end()) {
      node = found->second.node;
      written = found->second.written;
      hubs = facts.producer.valid() && !held.kept[t] ? found->second.hubs : written;
    } else if (facts.producer.valid()) {
      node = LayoutNetwork::node_of(facts.producer);
      written = hubs = SlotRow(facts.producer, Slot::kResult, facts.producer_index, tensor);
      if (network_.nodes()[node].usages >= 0) node = AddHolder(node, written);
      if (node >= static_cast<int32_t>(problem_.num_ops()))
        written = hubs = RowOf(rows_[written].type, Distinct(written));
    } else {
      node = AddNode(network_.AddCosts(std::vector<double>{0.0}), 0);
      written = hubs = RowOf(TypeOf(tensor), {types_[TypeOf(tensor)].Id(initial[t])});
    }
    int64_t as_written = last;  // until then
    const bool may_be_boxed = relaxed_ && found == shared_.end() && facts.producer.valid() && !held.kept[t];
    if (may_be_boxed && !held.takes_none(t)) {
      as_written = std::clamp<int64_t>(facts.producer.index() + 1, first, last);
      const int64_t least = LeastBytesOf(tensor);
      change[static_cast<size_t>(as_written)] = SaturatingAdd(change[static_cast<size_t>(as_written)], least);
      change[static_cast<size_t>(last)] -= least;
    }
    Hold(node, UsagesOf(tensor, held, written, hubs), first, as_written);
  }
  std::partial_sum(change.begin(), change.end(), change.begin());
  change.pop_back();
  if (relaxed_) always_held_ = std::move(change);
  network_.SetUsageLimit(*memory_limit_);
}

// Bytes of each state.
std::vector<int64_t> LayoutNetworkBuilder::UsagesOf(TensorId tensor, const HeldTimes& held, Row written, Row hubs) {
  const bool is_made = problem_.graph->tensor(tensor).producer.valid();
  const auto found = shared_.find(tensor);
  const auto [begin, end] = problem_.uses.of(tensor);
  const uint32_t type = rows_[written].type;
  const bool takes_none = held.takes_none(tensor.index());
  const bool has_late = begin != end && FirstLate(tensor) <= end[-1].op.value;
  int64_t least_hub = kInt64Max, least = kInt64Max;  // the latter: of all, whatever the state
  for (const uint32_t hub : rows_[hubs].layouts) least_hub = std::min(least_hub, BytesOf(type, hub));
  if (relaxed_ && found != shared_.end() && found->second.num_wants > 2 && is_made && !held.kept[tensor.index()]) {
    for (const uint32_t layout : rows_[found->second.wanted].layouts) least = std::min(least, BytesOf(type, layout));
  }
  if (relaxed_ && problem_.demands.standing(tensor) != nullptr && is_made)
    least = std::min(least, LeastBytesOf(tensor));
  std::vector<int64_t> usages;
  for (size_t s = 0; s < rows_[written].layouts.size(); ++s) {
    const uint32_t is = rows_[written].layouts[s], hub = rows_[hubs].layouts[s];
    const int64_t whole = BytesOf(type, is), left = end - begin > 2 ? least_hub : BytesOf(type, hub);
    int64_t bytes = std::min(whole, least);
    if (relaxed_ || types_[type].layout(is).has_partial()) {
      if (hub != is) bytes = std::min(bytes, left);
    } else if (has_late && IsReleased(type, is, hub)) {
      bytes = BytesOf(type, hub);
    }
    usages.push_back(takes_none ? 0 : bytes);
  }
  return usages;
}

// The first op that reads the tensor after the longest time in which nobody does, if that is worth a thing: until then
// a copy may be all that is left of it (memory/shrink.h). Behind all ops: none.
uint32_t LayoutNetworkBuilder::FirstLate(TensorId tensor) const {
  constexpr uint32_t kNone = ~0U;
  const OpId producer = problem_.graph->tensor(tensor).producer;
  if (!memory_limit_ || !producer.valid() || problem_.graph->micro_batches > 1) return kNone;
  if (problem_.demands.standing(tensor) != nullptr) return kNone;
  const auto [begin, end] = problem_.uses.of(tensor);
  uint32_t before = producer.value, longest = kLeastWait, first = kNone;
  for (const Use* use = begin; use != end; ++use) {
    if (use->op.value - before > longest) {
      longest = use->op.value - before;
      first = use->op.value;
    }
    before = use->op.value;
  }
  if (!relaxed_ || first == kNone) return first;
  // Of one use behind one at most, the states stand for all that plans do: one reader makes the hub of the tensor,
  // which is then free. Two late ones may each make its own copy in one step, which no state says; the relaxed network
  // is to be below such a plan, too.
  const auto late = std::count_if(begin, end, [&](const Use& use) { return use.op.value >= first; });
  const bool ends_as_asked = problem_.is_output[tensor.index()] || tied_input_.contains(tensor);
  return late > 1 || end - begin > 2 || ends_as_asked ? kNone : first;
}

// An activation that one op reads, so late that until then a copy may be all that is left.
bool LayoutNetworkBuilder::WaitsLong(TensorId tensor) const {
  const OpId producer = problem_.graph->tensor(tensor).producer;
  const auto [begin, end] = problem_.uses.of(tensor);
  return memory_limit_ && producer.valid() && problem_.graph->micro_batches == 1 && begin != end &&
         begin->op == end[-1].op && begin->op.value - producer.value > kLeastWait &&
         problem_.demands.standing(tensor) == nullptr && !tied_input_.contains(tensor);
}

// Is the tensor as it was written no more there for late readers? Sums are boxed for whoever wants them whole.
bool LayoutNetworkBuilder::IsReleased(uint32_t type, uint32_t written, uint32_t hub) {
  return hub != written && !types_[type].layout(written).has_partial() && BytesOf(type, hub) < BytesOf(type, written);
}

// Of a tensor that a pin lets lie otherwise than it is written: until it is boxed, and as any reader may want it.
int64_t LayoutNetworkBuilder::LeastBytesOf(TensorId tensor) {
  const Tensor& facts = problem_.graph->tensor(tensor);
  const uint32_t type = TypeOf(tensor);
  int64_t least = kInt64Max;
  for (const uint32_t layout : Distinct(SlotRow(facts.producer, Slot::kResult, facts.producer_index, tensor)))
    least = std::min(least, BytesOf(type, layout));
  for (const NdSbp& layout : HubsOf(problem_, tensor)) least = std::min(least, BytesOf(type, types_[type].Id(layout)));
  return least;
}

int64_t LayoutNetworkBuilder::BytesOf(uint32_t type, uint32_t layout) {
  const auto [entry, is_new] = bytes_.try_emplace((static_cast<uint64_t>(type) << 32) | layout, 0);
  if (is_new) entry->second = LocalBytes(types_[type].type(), types_[type].layout(layout), problem_.mesh);
  return entry->second;
}

double LayoutNetworkBuilder::CopySeconds(uint32_t type, uint32_t layout) {
  return copy_price_ == 0 ? 0 : copy_price_ * static_cast<double>(BytesOf(type, layout));
}

void LayoutNetworkBuilder::Hold(int32_t node, std::span<const int64_t> usages, int64_t begin, int64_t end) {
  CostNetwork::Node& entry = network_.nodes()[node];
  entry.usages = network_.AddUsages(usages);
  entry.begin = begin;
  entry.end = end;
}

// A further result of an op that holds one already: a node that follows the op.
int32_t LayoutNetworkBuilder::AddHolder(int32_t producer, Row produced) {
  const std::vector<uint32_t> distinct = Distinct(produced);
  const Row states = RowOf(rows_[produced].type, distinct);
  const int32_t node =
      AddNode(network_.AddCosts(std::vector<double>(distinct.size(), 0.0)), static_cast<size_t>(producer));
  LayoutNetwork::HolderNode entry{.producer = producer, .node = node};
  for (const uint32_t layout : rows_[produced].layouts) {
    entry.state_of_candidate.push_back(
        static_cast<int32_t>(std::find(distinct.begin(), distinct.end(), layout) - distinct.begin()));
  }
  result_.holder_nodes_.push_back(std::move(entry));
  AddEdge(producer, node, MatchTable(produced, states));
  return node;
}

}  // namespace sbp
