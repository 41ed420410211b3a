// What the nodes of a layout network hold, and when.
#include <algorithm>
#include <cstdint>
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
// Copies beside a tensor are not counted. The relaxed network holds at most what a
// plan holds, so that a bound under a limit stays one: there any layout that a reader may want can be all that is left
// of a tensor with three readers, or with one that comes late, and what a tied output is boxed to at the end takes its
// place.
void LayoutNetworkBuilder::AddMemory() {
  const Graph& graph = *problem_.graph;
  const HeldTimes held = HeldTimesOf(problem_, relaxed_);
  const std::vector<NdSbp> initial = InitialSourceLayouts(problem_);
  std::vector<int64_t> usages;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const TensorId tensor(t);
    const Tensor& facts = graph.tensors[t];
    const auto [begin, end] = problem_.uses.of(tensor);
    const int64_t first = held.firsts[t], last = held.lasts[t];
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
    usages.clear();
    const std::vector<uint32_t>& w = rows_[written].layouts;
    const std::vector<uint32_t>& h = rows_[hubs].layouts;
    int64_t least = kInt64Max;
    for (const uint32_t hub : h) least = std::min(least, BytesOf(rows_[written].type, hub));
    const bool takes_none = held.takes_none(t);
    const bool several = end - begin > 2;
    const bool has_late = begin != end && FirstLate(tensor) <= end[-1].op.value;
    const auto of_state = [&](uint32_t is, uint32_t hub) {
      const int64_t whole = BytesOf(rows_[written].type, is), left = BytesOf(rows_[written].type, hub);
      if (relaxed_ || types_[rows_[written].type].layout(is).has_partial())
        return std::min(whole, several ? least : left);
      return has_late && IsReleased(rows_[written].type, is, hub) ? left : whole;
    };
    const bool shares =
        relaxed_ && found != shared_.end() && found->second.num_wants > 2 && facts.producer.valid() && !held.kept[t];
    if (shares) {
      for (const uint32_t layout : rows_[found->second.wanted].layouts)
        least = std::min(least, BytesOf(rows_[written].type, layout));
    }
    // What one op reads, and not at once: a smaller copy may take its place early (memory/shrink.h).
    const bool waits = relaxed_ && found == shared_.end() && facts.producer.valid() && !held.kept[t] &&
                       last > static_cast<int64_t>(facts.producer.index()) + 2;
    if (waits) least = std::min(least, LeastBytesOf(tensor));
    const bool stands = relaxed_ && problem_.demands.standing(tensor) != nullptr && facts.producer.valid();
    if (stands) least = std::min(least, LeastBytesOf(tensor));
    for (size_t s = 0; s < w.size(); ++s) {
      int64_t bytes = BytesOf(rows_[written].type, w[s]);
      if (stands || waits) bytes = std::min(bytes, least);
      if (shares) bytes = std::min(bytes, least);
      if (h[s] != w[s]) bytes = std::min(bytes, of_state(w[s], h[s]));
      usages.push_back(takes_none ? 0 : bytes);
    }
    Hold(node, usages, std::min(first, last), last);
  }
  network_.SetUsageLimit(*memory_limit_);
}

// The first op that reads the tensor after the longest time in which nobody does, if that is worth a thing: until then
// a copy may be all that is left of it (memory/shrink.h). Behind all ops: none.
uint32_t LayoutNetworkBuilder::FirstLate(TensorId tensor) const {
  constexpr uint32_t kNone = ~0U;
  const OpId producer = problem_.graph->tensor(tensor).producer;
  if (!memory_limit_ || !producer.valid() || problem_.graph->micro_batches > 1) return kNone;
  if (problem_.demands.standing(tensor) != nullptr) return kNone;
  const auto [begin, end] = problem_.uses.of(tensor);
  // Of two that want the tensor the network knows all that plans do, so that its prices stay below theirs.
  if (relaxed_ && (end - begin > 2 || problem_.is_output[tensor.index()] || tied_input_.contains(tensor))) return kNone;
  uint32_t before = producer.value, longest = kLeastWait, first = kNone;
  for (const Use* use = begin; use != end; ++use) {
    if (use->op.value - before > longest) {
      longest = use->op.value - before;
      first = use->op.value;
    }
    before = use->op.value;
  }
  return first;
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
