#include "strategy/optimal/factor_graph.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <unordered_map>

#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "problem/demands.h"

namespace sbp {
namespace {

constexpr int64_t kMaxArcs = 6'000'000;  // of all graphs together
constexpr int64_t kMaxArcsOfOne = 300'000;
constexpr size_t kMaxReaderLayouts = 1'000'000;  // of one tensor: readers by layouts

}  // namespace

FactorGraph::FactorGraph(const Problem& problem, const PriceWeights& weights) : problem_(problem) {
  MakeGraphs(weights);
  MakeFactors();
  Order();
}

const SlotLayouts& FactorGraph::SlotOf(OpId op, uint32_t slot) const {
  const OpClass& op_class = problem_.class_at(op);
  return slot < op_class.operands.size() ? op_class.operands[slot] : op_class.results[slot - op_class.operands.size()];
}

// A graph per type of tensor that some op reads; the largest tensors first, until there are arcs enough.
void FactorGraph::MakeGraphs(const PriceWeights& weights) {
  const Graph& graph = *problem_.graph;
  std::unordered_map<TensorType, std::map<double, uint32_t>> numbers;  // by weight
  std::vector<const TensorType*> types;
  std::vector<double> sent;
  std::vector<std::set<Sbp>> kinds;
  std::vector<double> bytes;
  type_of_.assign(graph.tensors.size(), 0);
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const TensorType& type = graph.tensors[t].type;
    const double weight = weights.SentOf(TensorId(t));
    const auto [entry, is_new] = numbers[type].try_emplace(weight, static_cast<uint32_t>(types.size()));
    if (is_new) {
      types.push_back(&type);
      sent.push_back(weight);
      kinds.emplace_back();
      bytes.push_back(0);
    }
    type_of_[t] = entry->second;
    bytes[entry->second] += type.is_static() ? static_cast<double>(type.num_elements()) : 0;
  }
  NoteKinds(kinds);
  std::vector<uint32_t> order(types.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return bytes[a] > bytes[b]; });
  graphs_.resize(types.size());
  int64_t arcs = 0;
  for (const uint32_t i : order) {
    const int64_t size = LayoutGraph::SizeOf(*types[i], problem_.mesh.num_axes(), kinds[i].size());
    if (!types[i]->is_static() || size > kMaxArcsOfOne || arcs + size > kMaxArcs) continue;
    arcs += size;
    const std::vector<Sbp> partial(kinds[i].begin(), kinds[i].end());
    graphs_[i] = std::make_unique<LayoutGraph>(problem_, *types[i], partial, sent[i], weights.local);
  }
}

void FactorGraph::NoteKinds(std::vector<std::set<Sbp>>& kinds) const {
  std::set<std::array<uint32_t, 3>> seen;  // class, slot and number of the type: equal ops may weigh differently
  const auto note = [&](OpId op, size_t slot, TensorId tensor) {
    if (!tensor.valid()) return;
    const auto place = static_cast<uint32_t>(slot);
    if (!seen.insert({problem_.class_of[op.index()], place, type_of_[tensor.index()]}).second) return;
    for (const NdSbp& layout : SlotOf(op, place).layouts) {
      for (const Sbp sbp : layout) {
        if (sbp.is_partial()) kinds[type_of_[tensor.index()]].insert(sbp);
      }
    }
  };
  for (size_t o = 0; o < problem_.num_ops(); ++o) {
    const std::span<const TensorId> operands = problem_.operands(OpId(o));
    const std::vector<TensorId>& outputs = problem_.graph->ops[o].outputs;
    for (size_t i = 0; i < operands.size(); ++i) note(OpId(o), i, operands[i]);
    for (size_t r = 0; r < outputs.size(); ++r) note(OpId(o), operands.size() + r, outputs[r]);
  }
}

// Numbers of a slot's layouts in the graph of its type; null: some layout has none.
const std::vector<uint32_t>* FactorGraph::NumbersOf(OpId op, uint32_t slot, TensorId tensor) {
  const LayoutGraph* graph = graphs_[type_of_[tensor.index()]].get();
  const auto [entry, is_new] = numbers_.try_emplace({problem_.class_of[op.index()], slot, type_of_[tensor.index()]});
  if (is_new) {
    const SlotLayouts& layouts = SlotOf(op, slot);
    auto numbers = std::make_unique<std::vector<uint32_t>>();
    for (const NdSbp& layout : layouts.layouts) {
      const std::optional<uint32_t> number = graph->number(layout);
      if (!number) {
        numbers = nullptr;
        break;
      }
      numbers->push_back(*number);
    }
    entry->second = std::move(numbers);
  }
  return entry->second.get();
}

void FactorGraph::AddLink(const Link& link) {
  const auto index = static_cast<uint32_t>(links_.size());
  links_of_factor_[link.tensor].push_back(index);
  if (link.tie) {
    ties_of_factor_[link.other].push_back(index);
  } else {
    links_of_op_[link.other].push_back(index);
  }
  links_.push_back(link);
}

void FactorGraph::MakeFactors() {
  const Graph& graph = *problem_.graph;
  links_of_op_.resize(problem_.num_ops());
  factor_of_.assign(graph.tensors.size(), -1);
  std::unordered_map<TensorId, TensorId> tied;
  std::set<TensorId> sources;
  for (const Tie& tie : graph.ties) {
    if (tie.restarts) {
      accumulators_.insert(tie.input);  // that they end as they start is left out of the bound
      continue;
    }
    tied.emplace(tie.output, tie.input);
    sources.insert(tie.input);
  }
  for (int round = 0; round < 2; ++round) {  // sources first: ties read them
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      const TensorId tensor(t);
      const OpId producer = graph.tensors[t].producer;
      if (producer.valid() != (round == 1)) continue;
      const auto tie = tied.find(tensor);
      AddFactor(tensor, tie == tied.end() ? TensorId() : tie->second, sources.contains(tensor));
    }
  }
}

// Readers that run less often than others are left out: a tree to some of the readers is no dearer than one to all.
int64_t FactorGraph::RunsOfFactor(TensorId tensor) const {
  int64_t most = 0;
  const auto [begin, end] = problem_.uses.of(tensor);
  for (const Use* use = begin; use != end; ++use) most = std::max(most, problem_.runs.of(use->op));
  return begin == end ? problem_.runs.end(tensor) : most;
}

std::vector<uint32_t> FactorGraph::EndsOf(TensorId tensor, const LayoutGraph& graph) const {
  const EndRule::Kind end = problem_.demands.end(tensor).kind;
  if (end == EndRule::Kind::kNotPartial) return graph.whole();
  if (end != EndRule::Kind::kWhole) return {};
  const std::optional<uint32_t> number = graph.number(NdSbp(problem_.mesh.num_axes()));
  return number ? std::vector<uint32_t>{*number} : std::vector<uint32_t>();
}

void FactorGraph::AddFactor(TensorId tensor, TensorId tied_to, bool is_tied_source) {
  const OpId producer = problem_.graph->tensor(tensor).producer;
  const LayoutGraph* graph = graphs_[type_of_[tensor.index()]].get();
  if (graph == nullptr || (producer.valid() && !IsWhole(producer))) return;
  const auto factor = static_cast<uint32_t>(factors_.size());
  std::vector<Link> links;
  if (producer.valid()) {
    const auto slot = static_cast<uint32_t>(problem_.class_at(producer).operands.size() +
                                            problem_.graph->tensor(tensor).producer_index);
    links.push_back({.tensor = factor, .other = producer.value, .slot = slot, .written = true});
  }
  const auto [begin, end] = problem_.uses.of(tensor);
  const int64_t runs = RunsOfFactor(tensor);
  for (const Use* use = begin; use != end; ++use) {
    if (IsWhole(use->op) && problem_.runs.of(use->op) == runs)
      links.push_back({.tensor = factor, .other = use->op.value, .slot = static_cast<uint32_t>(use->operand)});
  }
  for (Link& link : links) {
    link.numbers = NumbersOf(OpId(link.other), link.slot, tensor);
    if (link.numbers == nullptr) return;
  }
  if (tied_to.valid() && problem_.runs.end(tensor) == runs && factor_of_[tied_to.index()] >= 0 &&
      graphs_[type_of_[tied_to.index()]].get() == graph) {
    links.push_back({.tensor = factor,
                     .other = static_cast<uint32_t>(factor_of_[tied_to.index()]),
                     .tie = true,
                     .numbers = &graph->whole()});
  }
  // A tree to some of the readers is no dearer than one to all.
  const size_t most_links = 2 + kMaxReaderLayouts / graph->size();
  if (links.size() > most_links) links.erase(links.begin() + static_cast<int64_t>(most_links), links.end());
  std::vector<uint32_t> ends = problem_.runs.end(tensor) == runs ? EndsOf(tensor, *graph) : std::vector<uint32_t>();
  const size_t num_readers = links.size() - (producer.valid() ? 1 : 0) + (ends.empty() ? 0 : 1);
  if (num_readers == 0 && !is_tied_source) return;
  factor_of_[tensor.index()] = static_cast<int32_t>(factor);
  factors_.push_back({.tensor = tensor, .factor = TensorFactor(*graph), .ends = std::move(ends), .runs = runs});
  if (!producer.valid()) {
    const auto pin = problem_.pins.tensors.find(tensor);
    const std::optional<uint32_t> pinned =
        pin == problem_.pins.tensors.end() ? std::nullopt : graph->number(pin->second.layout);
    factors_.back().start = pinned ? std::vector<uint32_t>{*pinned} : graph->whole();
    if (!pinned && is_accumulator(tensor)) {
      factors_.back().start.resize(graph->size());
      std::iota(factors_.back().start.begin(), factors_.back().start.end(), 0);
    }
  }
  links_of_factor_.emplace_back();
  ties_of_factor_.emplace_back();
  for (const Link& link : links) AddLink(link);
}

void FactorGraph::Order() {
  std::vector<std::pair<uint64_t, Node>> keyed;
  for (uint32_t o = 0; o < problem_.num_ops(); ++o) {
    keyed.push_back({uint64_t{o} * 3 + 1, {true, o}});
  }
  for (uint32_t f = 0; f < factors_.size(); ++f) {
    const TensorId tensor = factors_[f].tensor;
    const OpId producer = problem_.graph->tensor(tensor).producer;
    const auto [begin, end] = problem_.uses.of(tensor);
    const uint64_t op = producer.valid() ? producer.index() : begin != end ? begin->op.index() : 0;
    keyed.push_back({op * 3 + (producer.valid() ? 2 : 0), {false, f}});
  }
  std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [key, node] : keyed) order_.push_back(node);
}

}  // namespace sbp
