// What the nodes of a layout network hold, and when.
#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>
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
#include "strategy/optimal/layout_network.h"
#include "strategy/optimal/layout_network_builder.h"
#include "strategy/strategy.h"
#include "strategy/transitions.h"

namespace sbp {

// A tensor is held from its producer to its last reader as it was written; where it has a hub and only a copy may be
// left in the end, as whatever is smaller. What lies in its operand's memory is held from where that is read no more.
// Copies beside a tensor are not counted. The relaxed network holds at most what a
// plan holds, so that a bound under a limit stays one: there any layout that a reader may want can be all that is left
// of a tensor with three readers, and what a tied output is boxed to at the end takes its place.
void LayoutNetworkBuilder::AddMemory() {
  const Graph& graph = *problem_.graph;
  const auto steps = static_cast<int64_t>(problem_.num_ops()) + 1;
  std::vector<bool> kept(graph.tensors.size(), false);
  for (const TensorId output : graph.outputs) {
    kept[output.index()] = !relaxed_ || problem_.demands.end(output).kind == EndRule::Kind::kNone;
  }
  for (const Tie& tie : graph.ties) kept[tie.output.index()] = !relaxed_;
  const PassedOn passed_on = FindPassedOn(kept);
  std::vector<int64_t> lasts(graph.tensors.size());  // the first time at which nobody reads it
  for (size_t t = 0; t < lasts.size(); ++t) {
    const Tensor& facts = graph.tensors[t];
    const auto [begin, end] = problem_.uses.of(TensorId(t));
    const bool stays = !facts.producer.valid() || kept[t];
    const size_t last = begin == end ? (stays ? 0 : facts.producer.index()) : end[-1].op.index();
    lasts[t] = stays ? steps : static_cast<int64_t>(last) + 1 - (passed_on.ends_before_reader[t] ? 1 : 0);
  }
  const std::vector<int64_t> firsts = FirstHeld(lasts);
  const std::vector<NdSbp> initial = InitialSourceLayouts(problem_);
  std::vector<int64_t> usages;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const TensorId tensor(t);
    const Tensor& facts = graph.tensors[t];
    const auto [begin, end] = problem_.uses.of(tensor);
    const int64_t first = firsts[t], last = lasts[t];
    const auto found = shared_.find(tensor);
    Row written, hubs;
    int32_t node;
    if (found != shared_.end()) {
      node = found->second.node;
      written = found->second.written;
      hubs = facts.producer.valid() && !kept[t] ? found->second.hubs : written;
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
    const bool takes_none = passed_on.takes_none[t] || first >= last;
    const bool several = end - begin > 2;
    const bool shares =
        relaxed_ && found != shared_.end() && found->second.num_wants > 2 && facts.producer.valid() && !kept[t];
    if (shares) {
      for (const uint32_t layout : rows_[found->second.wanted].layouts)
        least = std::min(least, BytesOf(rows_[written].type, layout));
    }
    const bool stands = relaxed_ && problem_.demands.standing(tensor) != nullptr && facts.producer.valid();
    if (stands) least = std::min(least, LeastBytesOf(tensor));
    for (size_t s = 0; s < w.size(); ++s) {
      int64_t bytes = BytesOf(rows_[written].type, w[s]);
      if (stands) bytes = std::min(bytes, least);
      if (shares) bytes = std::min(bytes, least);
      if (h[s] != w[s]) bytes = std::min(bytes, several ? least : BytesOf(rows_[written].type, h[s]));
      usages.push_back(takes_none ? 0 : bytes);
    }
    Hold(node, usages, std::min(first, last), last);
  }
  network_.SetUsageLimit(*memory_limit_);
}

// Per tensor, the time from which on it is to be counted; kNever: it takes nothing, as memory/lifetimes.cc says of
// kernel groups that are not cut. Where a plan cuts one, it holds more than the network thinks. What an op without a
// kernel gives lies in its operand's memory, which is then held as long as any of all that lies there: one after the
// other, each from where those before it (in the graph's order) are read no more. Where that memory is there anyway, or
// the result counts more elements than lie there, it is left out.
std::vector<int64_t> LayoutNetworkBuilder::FirstHeld(std::span<const int64_t> lasts) const {
  constexpr int64_t kNever = kInt64Max;
  const Graph& graph = *problem_.graph;
  std::vector<int64_t> firsts(graph.tensors.size(), 0);
  for (size_t t = 0; t < firsts.size(); ++t) {
    if (graph.tensors[t].producer.valid()) firsts[t] = static_cast<int64_t>(graph.tensors[t].producer.index());
  }
  if (!problem_.fusion) return firsts;
  const KernelGroups& kernels = problem_.fusion->groups;
  std::vector<TensorId> lies_in(graph.tensors.size());     // in whose memory
  std::vector<int64_t> until(lasts.begin(), lasts.end());  // per such tensor: it is counted so far
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    const Op& op = graph.ops[o];
    const bool is_free = kernels.runs_no_kernel(OpId(o)) && !op.inputs.empty() && op.inputs[0].valid();
    for (const TensorId result : op.outputs) {
      if (!result.valid()) continue;
      lies_in[result.index()] = result;
      if (kernels.is_inside(result)) firsts[result.index()] = kNever;
      if (!is_free) continue;
      const TensorId operand = op.inputs[0];
      const TensorId owner = lies_in[operand.index()].valid() ? lies_in[operand.index()] : operand;
      lies_in[result.index()] = owner;
      const bool counts = graph.tensor(owner).producer.valid() && !kernels.is_inside(owner) &&
                          graph.tensor(result).type.num_bytes() <= graph.tensor(owner).type.num_bytes();
      firsts[result.index()] = counts ? until[owner.index()] : kNever;
      if (counts) until[owner.index()] = std::max(until[owner.index()], lasts[result.index()]);
    }
  }
  return firsts;
}

// What FindInPlace (memory/memory.h) finds where every operand is read as it was written: a bound stays one, as less is
// held where an operand is boxed first, the search only finds plans a little larger than it thought.
LayoutNetworkBuilder::PassedOn LayoutNetworkBuilder::FindPassedOn(const std::vector<bool>& kept) const {
  const Graph& graph = *problem_.graph;
  PassedOn found{std::vector<bool>(graph.tensors.size(), false), std::vector<bool>(graph.tensors.size(), false)};
  std::unordered_map<TensorId, TensorId> state_of;
  for (const Tie& tie : graph.ties) state_of.emplace(tie.output, tie.input);
  const auto is_last = [&](TensorId tensor, OpId op) {
    const auto [begin, end] = problem_.uses.of(tensor);
    return begin != end && end[-1].op == op;
  };
  for (uint32_t o = 0; o < graph.ops.size(); ++o) {
    const std::vector<InPlacePair>& pairs = problem_.class_at(OpId(o)).in_place;
    if (pairs.empty()) continue;
    const std::vector<TensorId> operands = graph.OperandsOf(graph.ops[o]);
    for (uint32_t r = 0; r < graph.ops[o].outputs.size(); ++r) {
      const TensorId written = graph.ops[o].outputs[r];
      if (!written.valid()) continue;
      const auto state = state_of.find(written);
      const auto may_take = [&](const InPlacePair& pair, bool as_state) {
        const TensorId read = operands[static_cast<size_t>(pair.operand)];
        if (pair.result != static_cast<int>(r) || !read.valid() || !is_last(read, OpId(o))) return false;
        if (as_state) return state != state_of.end() && read == state->second;
        return pair.elementwise && graph.tensor(read).producer.valid() && !kept[read.index()] &&
               !found.ends_before_reader[read.index()];
      };
      if (std::ranges::any_of(pairs, [&](const InPlacePair& pair) { return may_take(pair, true); })) {
        found.takes_none[written.index()] = true;
        continue;
      }
      const auto taken = std::ranges::find_if(pairs, [&](const InPlacePair& pair) { return may_take(pair, false); });
      if (taken != pairs.end()) found.ends_before_reader[operands[static_cast<size_t>(taken->operand)].index()] = true;
    }
  }
  return found;
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
