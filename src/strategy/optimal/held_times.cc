#include "strategy/optimal/held_times.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <unordered_map>

#include "base/checked_math.h"
#include "base/ids.h"
#include "graph/graph.h"
#include "graph/held.h"
#include "graph/kernel_groups.h"
#include "graph/made_anew.h"
#include "problem/demands.h"
#include "rule/in_place.h"

namespace sbp {
namespace {

// Per tensor, as far as the graph tells: is its buffer its last reader's own result; does it lie in a state's place?
struct PassedOn {
  std::vector<bool> ends_before_reader, takes_none;
};

// Per tensor, the time from which on it is to be counted; kNever: it takes nothing, as memory/lifetimes.cc says of
// kernel groups that are not cut. Where a plan cuts one, it holds more than the network thinks. What an op without a
// kernel gives lies in its operand's memory, which is then held as long as any of all that lies there: one after the
// other, each from where those before it (in the graph's order) are read no more. Where that memory is there anyway, or
// the result counts more elements than lie there, it is left out.
std::vector<int64_t> FirstHeld(const Problem& problem, std::span<const int64_t> lasts) {
  constexpr int64_t kNever = kInt64Max;
  const Graph& graph = *problem.graph;
  std::vector<int64_t> firsts(graph.tensors.size(), 0);
  for (size_t t = 0; t < firsts.size(); ++t) {
    if (graph.tensors[t].producer.valid()) firsts[t] = static_cast<int64_t>(graph.tensors[t].producer.index());
  }
  if (!problem.fusion) return firsts;
  const KernelGroups& kernels = problem.fusion->groups;
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
PassedOn FindPassedOn(const Problem& problem, const std::vector<bool>& kept, std::span<const int64_t> held_until) {
  const Graph& graph = *problem.graph;
  PassedOn found{std::vector<bool>(graph.tensors.size(), false), std::vector<bool>(graph.tensors.size(), false)};
  std::unordered_map<TensorId, TensorId> state_of;
  for (const Tie& tie : graph.ties) state_of.emplace(tie.output, tie.input);
  const auto is_last = [&](TensorId tensor, OpId op) {
    const auto [begin, end] = problem.uses.of(tensor);
    return begin != end && end[-1].op == op && held_until[tensor.index()] <= static_cast<int64_t>(op.index());
  };
  for (uint32_t o = 0; o < graph.ops.size(); ++o) {
    const std::vector<InPlacePair>& pairs = problem.class_at(OpId(o)).in_place;
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

}  // namespace

HeldTimes HeldTimesOf(const Problem& problem, bool relaxed) {
  const Graph& graph = *problem.graph;
  const auto steps = static_cast<int64_t>(problem.num_ops()) + 1;
  HeldTimes held;
  held.kept.assign(graph.tensors.size(), false);
  for (const TensorId output : graph.outputs) {
    held.kept[output.index()] = !relaxed || problem.demands.end(output).kind == EndRule::Kind::kNone;
  }
  for (const Tie& tie : graph.ties) held.kept[tie.output.index()] = !relaxed;
  std::vector<int64_t> until(graph.tensors.size(), 0);  // the op until which nobody's result is held (graph/held.h)
  for (const HeldResult& result : FindHeld(graph))
    until[result.tensor.index()] = static_cast<int64_t>(result.until.index());
  // What kernels make later is made of (graph/made_anew.h), as long as no plan cuts them: no statement of bounds.
  const KernelGroups none;
  const std::vector<OpId> made = MadeAnewUntil(graph, !relaxed && problem.fusion ? problem.fusion->groups : none);
  for (size_t o = 0; o < made.size(); ++o) {
    if (made[o] == OpId(o)) continue;
    for (const TensorId read : graph.OperandsOf(graph.ops[o])) {
      if (read.valid()) until[read.index()] = std::max(until[read.index()], static_cast<int64_t>(made[o].index()));
    }
  }
  const PassedOn passed_on = FindPassedOn(problem, held.kept, until);
  held.lasts.resize(graph.tensors.size());
  for (size_t t = 0; t < held.lasts.size(); ++t) {
    const Tensor& facts = graph.tensors[t];
    const auto [begin, end] = problem.uses.of(TensorId(t));
    const bool stays = !facts.producer.valid() || held.kept[t];
    const size_t last = begin == end ? (stays ? 0 : facts.producer.index()) : end[-1].op.index();
    held.lasts[t] = stays ? steps : static_cast<int64_t>(last) + 1 - (passed_on.ends_before_reader[t] ? 1 : 0);
    if (until[t] > 0) held.lasts[t] = std::max(held.lasts[t], until[t] + 1);
  }
  held.firsts = FirstHeld(problem, held.lasts);
  held.in_place = passed_on.takes_none;
  return held;
}

}  // namespace sbp
