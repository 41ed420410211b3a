#include "strategy/optimal/beside.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "problem/problem.h"

namespace sbp {
namespace {

constexpr uint32_t kWindow = 64;

// Numbers from 0 on, kept in short: all below `all`, and some of the next ones. Forgets those that are further away.
struct SomeNumbers {
  uint32_t all = 0;
  uint64_t next = 0;  // bit i: all + i; bit 0 is not set

  void Add(uint32_t number) {
    if (number < all || number - all >= kWindow) return;
    next |= uint64_t{1} << (number - all);
    Normalise();
  }
  void Add(SomeNumbers other) {
    if (other.all > all) std::swap(*this, other);
    if (all - other.all < kWindow) next |= other.next >> (all - other.all);
    Normalise();
  }

 private:
  void Normalise() {
    const auto more = static_cast<uint32_t>(std::countr_one(next));
    all += more;
    next = more < kWindow ? next >> more : 0;
  }
};

}  // namespace

// Of the ops of one kind, in an order in which what leads to an op stands before it.
struct BesideFinder::Cover {
  uint32_t count = 0;
  std::vector<uint32_t> lead;     // per op: so many of the first ones lead to it, or are it
  std::vector<uint32_t> follows;  // per op: so many of the last ones follow from it, or are it
};

BesideFinder::BesideFinder(const Problem& problem)
    : problem_(problem), producers_(problem.num_ops()), readers_(problem.num_ops()) {
  const Graph& graph = *problem.graph;
  for (uint32_t o = 0; o < problem.num_ops(); ++o) {
    for (const TensorId operand : problem.operands(OpId(o))) {
      const OpId producer = operand.valid() ? graph.tensor(operand).producer : OpId();
      if (!producer.valid()) continue;
      producers_[o].push_back(producer.value);
      readers_[producer.index()].push_back(o);
    }
  }
  for (size_t t = 0; t < graph.tensors.size(); ++t)
    ends_.push_back(problem.is_output[t] || problem.demands.standing(TensorId(t)) != nullptr);
  for (const Tie& tie : graph.ties) ends_[tie.output.index()] = true;
}

// The graph's order is topological. Ops of rank 0 are moved up to the last one of a higher rank that leads to them, as
// updates of weights that stand at the end of a step are.
std::vector<uint32_t> BesideFinder::OrderOf(const std::vector<uint8_t>& ranks) const {
  std::vector<uint32_t> from(ranks.size()), order(ranks.size());
  for (uint32_t o = 0; o < ranks.size(); ++o) {
    order[o] = o;
    if (ranks[o] > 0) from[o] = o;
    for (const uint32_t producer : producers_[o]) from[o] = std::max(from[o], from[producer]);
  }
  std::ranges::stable_sort(order, {}, [&](uint32_t o) { return from[o]; });
  return order;
}

BesideFinder::Cover BesideFinder::CoverOf(const std::vector<uint8_t>& kinds, uint8_t kind,
                                          const std::vector<uint32_t>& order) const {
  const size_t num_ops = kinds.size();
  Cover cover{.lead = std::vector<uint32_t>(num_ops), .follows = std::vector<uint32_t>(num_ops)};
  std::vector<uint32_t> number(num_ops);
  for (const uint32_t o : order) {
    if (kinds[o] == kind) number[o] = cover.count++;
  }
  std::vector<SomeNumbers> met(num_ops);
  for (size_t o = 0; o < num_ops; ++o) {
    for (const uint32_t producer : producers_[o]) met[o].Add(met[producer]);
    if (kinds[o] == kind) met[o].Add(number[o]);
    cover.lead[o] = met[o].all;
  }
  for (size_t o = num_ops; o-- > 0;) {
    met[o] = {};
    for (const uint32_t reader : readers_[o]) met[o].Add(met[reader]);
    if (kinds[o] == kind) met[o].Add(cover.count - 1 - number[o]);
    cover.follows[o] = met[o].all;
  }
  return cover;
}

// No op is both before and behind, so all are excluded where those counted of either are as many.
void BesideFinder::MarkTensors(const Cover& cover, uint8_t kind, Beside& found) const {
  const KindSet bit = KindSet{1} << kind;
  for (size_t t = 0; t < found.any.size(); ++t) {
    const OpId producer = problem_.graph->tensors[t].producer;
    const uint32_t rest = cover.count - (producer.valid() ? cover.lead[producer.index()] : 0);
    const auto [begin, end] = problem_.uses.of(TensorId(t));
    bool any = (ends_[t] || begin == end) && rest > 0, early = false;
    for (const Use* use = begin; use != end; ++use) {
      const bool is_early = use->op == found.early_reader[t];
      (is_early ? early : any) |= cover.follows[use->op.index()] < rest;
    }
    found.any[t] |= any || early ? bit : 0;
    found.early[t] |= early ? bit : 0;
  }
}

Beside BesideFinder::Find(const OpKinds& kinds) const {
  const Graph& graph = *problem_.graph;
  Beside found;
  found.any.resize(graph.tensors.size());
  found.early.resize(graph.tensors.size());
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    OpId& reader = found.early_reader.emplace_back();
    uint8_t highest = 0;
    const auto [begin, end] = problem_.uses.of(TensorId(t));
    for (const Use* use = begin; use != end; ++use) {
      if (kinds.rank[use->op.index()] <= highest) continue;
      highest = kinds.rank[use->op.index()];
      reader = use->op;
    }
  }
  const std::vector<uint32_t> order = OrderOf(kinds.rank);
  KindSet kinds_there = 0;
  for (const uint8_t kind : kinds.kind) kinds_there |= KindSet{1} << kind;
  for (; kinds_there != 0; kinds_there &= kinds_there - 1) {
    const auto kind = static_cast<uint8_t>(std::countr_zero(kinds_there));
    MarkTensors(CoverOf(kinds.kind, kind, order), kind, found);
  }
  std::vector<bool> has_early;
  for (const OpId reader : found.early_reader) has_early.push_back(reader.valid());
  for (const Tie& tie : graph.ties) {
    const size_t a = tie.input.index(), b = tie.output.index();
    found.any[a] = found.any[b] = found.any[a] | found.any[b];
    found.early[a] = found.early[b] = found.early[a] | found.early[b];
    has_early[a] = has_early[b] = has_early[a] || has_early[b];
  }
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (!has_early[t]) found.early[t] = found.any[t];
  }
  return found;
}

}  // namespace sbp
