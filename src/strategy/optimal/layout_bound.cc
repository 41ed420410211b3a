#include "strategy/optimal/layout_bound.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>

#include "base/hash.h"
#include "base/ids.h"
#include "boxing/op_seconds.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "problem/problem.h"
#include "sbp/sbp.h"
#include "search/number_rows.h"
#include "strategy/optimal/layout_graph.h"
#include "strategy/optimal/price_weights.h"
#include "strategy/optimal/tensor_factor.h"

namespace sbp {
namespace {

constexpr double kForbids = std::numeric_limits<double>::infinity();
constexpr int64_t kMaxArcs = 6'000'000;  // of all graphs together
constexpr int64_t kMaxArcsOfOne = 300'000;
constexpr double kGrain = 1.0 / (int64_t{1} << 36);  // messages are multiples of this part of the step
constexpr double kLeastGain = 3e-4;                  // of the bound, by a sweep; less: it has come to rest
constexpr size_t kMaxReaderLayouts = 1'000'000;      // of one tensor: readers by layouts
constexpr size_t kNodesPerLook = 64;
constexpr double kRoundingOfSums = 1e-9;  // of the bound: what sums of doubles may be off

}  // namespace

class LayoutBound::Ascent {
 public:
  Ascent(const Problem& problem, const CandidateLists& lists, double upper, const PriceWeights& weights)
      : problem_(problem), lists_(lists), weights_(weights), most_(4 * upper + 1e-9), grain_(upper * kGrain) {
    MakeGraphs();
    MakeFactors();
    Order();
    excess_of_.assign(problem.num_ops(), -1);
  }

  void Ascend(int64_t most_work, const std::function<bool()>& stop) {
    const int64_t last = work_ + most_work;
    const auto late = [&] { return work_ > last || (stop && stop()); };
    do {
      const double before = bound_;
      bound_ = std::max(bound_, Sweep(true, late));
      Compact();
      if (late()) break;
      excess_ = {};
      before_ = bound_;
      bound_ = std::max(bound_, Sweep(false, late));
      Compact();
      if (bound_ - before <= kLeastGain * bound_) break;
    } while (!late());
  }

  double bound() const { return std::max(0.0, bound_ - Rounding()); }

  std::vector<double> Excess(OpId op) const {
    const int32_t row = excess_of_[op.index()];
    if (row < 0) return std::vector<double>(lists_.of(op).size(), 0.0);
    const std::span<const double> known = excess_[row];
    std::vector<double> result(known.begin(), known.end());
    // It was measured while the bound was at least what the sweep before had left.
    const double offset = std::max(0.0, bound_ - before_) + 2 * Rounding();
    for (double& seconds : result) seconds = seconds >= most_ / 2 ? kForbids : std::max(0.0, seconds - offset);
    return result;
  }

  std::vector<int32_t> KeyOf(OpId op) const {
    return {static_cast<int32_t>(lists_.number(op)), excess_of_[op.index()]};
  }

 private:
  // A variable: the layout of a tensor in one place. A message is a cost per layout: the tensor's factor pays it, the
  // other end gets it back.
  struct Link {
    uint32_t tensor = 0;  // index of the factor
    uint32_t other = 0;   // op, or (tie) the factor of the source
    bool tie = false;
    uint32_t slot = 0;                               // operands, then results
    bool written = false;                            // by `other`; else read
    const std::vector<uint32_t>* numbers = nullptr;  // of the layouts in the tensor's graph
    int32_t message = 0;
  };
  struct TensorPart {
    TensorId tensor;
    TensorFactor factor;
    std::vector<uint32_t> start = {};  // sources: how they may lie
    int64_t runs = 1;                  // how often each of the readers that are left runs
  };
  struct Node {  // of the order: an op or a tensor's factor
    bool op;
    uint32_t index;
  };
  struct Answer {
    double least = 0;
    std::vector<int32_t> messages;  // of the links that were pushed along, in order
    int32_t excess = -1;            // ops, backward: row of excess_
  };
  struct IntsHash {
    size_t operator()(const std::vector<int32_t>& key) const { return HashRange(key.size(), key); }
  };

  // What sums of doubles and messages of whole grains may be off.
  double Rounding() const { return kRoundingOfSums * bound_ + grain_ * static_cast<double>(links_.size() + 1); }
  bool Whole(OpId op) const { return !problem_.candidates(op).truncated; }

  // A graph per type of tensor that some op reads; the largest tensors first, until there are arcs enough.
  void MakeGraphs() {
    const Graph& graph = *problem_.graph;
    std::unordered_map<TensorType, std::map<double, uint32_t>> numbers;  // by weight
    std::vector<const TensorType*> types;
    std::vector<double> sent;
    std::vector<std::set<Sbp>> kinds;
    std::vector<double> bytes;
    type_of_.assign(graph.tensors.size(), 0);
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      const TensorType& type = graph.tensors[t].type;
      const double weight = weights_.SentOf(TensorId(t));
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
      graphs_[i] = std::make_unique<LayoutGraph>(problem_, *types[i], partial, sent[i], weights_.local);
    }
  }

  void NoteKinds(std::vector<std::set<Sbp>>& kinds) const {
    std::vector<bool> seen(problem_.classes.size());
    const auto note = [&](const SlotLayouts& slot, TensorId tensor) {
      if (!tensor.valid()) return;
      for (const NdSbp& layout : slot.layouts) {
        for (const Sbp sbp : layout) {
          if (sbp.is_partial()) kinds[type_of_[tensor.index()]].insert(sbp);
        }
      }
    };
    for (size_t o = 0; o < problem_.num_ops(); ++o) {
      if (seen[problem_.class_of[o]]) continue;  // equal ops have operands of equal types
      seen[problem_.class_of[o]] = true;
      const OpClass& op_class = problem_.class_at(OpId(o));
      const std::span<const TensorId> operands = problem_.operands(OpId(o));
      const std::vector<TensorId>& outputs = problem_.graph->ops[o].outputs;
      for (size_t i = 0; i < operands.size(); ++i) note(op_class.operands[i], operands[i]);
      for (size_t r = 0; r < outputs.size(); ++r) note(op_class.results[r], outputs[r]);
    }
  }

  // Numbers of a slot's layouts in the graph of its type; null: some layout has none.
  const std::vector<uint32_t>* NumbersOf(OpId op, uint32_t slot, TensorId tensor) {
    const LayoutGraph* graph = graphs_[type_of_[tensor.index()]].get();
    const auto [entry, is_new] = numbers_.try_emplace({problem_.class_of[op.index()], slot, type_of_[tensor.index()]});
    if (is_new) {
      const OpClass& op_class = problem_.class_at(op);
      const SlotLayouts& layouts =
          slot < op_class.operands.size() ? op_class.operands[slot] : op_class.results[slot - op_class.operands.size()];
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

  void AddLink(Link link) {
    const std::vector<double> zero(link.numbers->size(), 0.0);
    link.message = messages_.Add(zero);
    const auto index = static_cast<uint32_t>(links_.size());
    links_of_factor_[link.tensor].push_back(index);
    if (link.tie) {
      ties_of_factor_[link.other].push_back(index);
    } else {
      links_of_op_[link.other].push_back(index);
    }
    links_.push_back(link);
  }

  void MakeFactors() {
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
  int64_t RunsOfFactor(TensorId tensor) const {
    int64_t most = 0;
    const auto [begin, end] = problem_.uses.of(tensor);
    for (const Use* use = begin; use != end; ++use) most = std::max(most, problem_.runs.of(use->op));
    return begin == end ? problem_.runs.end(tensor) : most;
  }

  void AddFactor(TensorId tensor, TensorId tied_to, bool is_tied_source) {
    const OpId producer = problem_.graph->tensor(tensor).producer;
    const LayoutGraph* graph = graphs_[type_of_[tensor.index()]].get();
    if (graph == nullptr || (producer.valid() && !Whole(producer))) return;
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
      if (Whole(use->op) && problem_.runs.of(use->op) == runs)
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
    const size_t num_readers = links.size() - (producer.valid() ? 1 : 0);
    if (num_readers == 0 && !is_tied_source) return;
    factor_of_[tensor.index()] = static_cast<int32_t>(factor);
    factors_.push_back({.tensor = tensor, .factor = TensorFactor(*graph, num_readers), .runs = runs});
    if (!producer.valid()) {
      const auto pin = problem_.pins.tensors.find(tensor);
      const std::optional<uint32_t> pinned =
          pin == problem_.pins.tensors.end() ? std::nullopt : graph->number(pin->second.layout);
      factors_.back().start = pinned ? std::vector<uint32_t>{*pinned} : graph->whole();
      if (!pinned && accumulators_.contains(tensor)) {
        factors_.back().start.resize(graph->size());
        std::iota(factors_.back().start.begin(), factors_.back().start.end(), 0);
      }
    }
    links_of_factor_.emplace_back();
    ties_of_factor_.emplace_back();
    for (Link& link : links) AddLink(link);
  }

  // Tensors stand after their producers; sources before their first reader.
  void Order() {
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

  // Every factor's least value, after what the ones before it have moved to it. Nothing that moves later makes it
  // smaller, so that the sum is a bound when the sweep is done. Cut short, it is one for the first sweep only: then
  // what was not visited is as it was.
  double Sweep(bool forward, const std::function<bool()>& late) {
    double sum = 0;
    bool cut = false;
    if (!forward) excess_of_.assign(problem_.num_ops(), -1);
    for (size_t i = 0; i < order_.size(); ++i) {
      const Node& node = order_[forward ? i : order_.size() - 1 - i];
      cut = cut || ((i + 1) % kNodesPerLook == 0 && late());
      if (!cut) {
        sum += node.op ? VisitOp(node.index, forward) : VisitTensor(node.index, forward);
      } else if (bound_ > 0) {
        return 0;
      } else if (node.op) {
        sum += LeastCompute(OpId(node.index));
      }
    }
    return sum;
  }

  double LeastCompute(OpId op) {
    if (weights_.IsFree(op)) return 0;
    const auto [entry, is_new] = least_compute_.try_emplace({lists_.number(op), problem_.runs.of(op)}, most_);
    if (!is_new) return entry->second;
    if (!Whole(op)) {
      const double once = LeastOpSeconds(*problem_.class_at(op).list->instance, problem_.mesh,
                                         problem_.boxing->cluster(), problem_.FusionOf(problem_.class_at(op)));
      entry->second = std::min(entry->second, once * static_cast<double>(problem_.runs.of(op)));
      return entry->second;
    }
    for (const uint32_t c : lists_.of(op)) entry->second = std::min(entry->second, problem_.ComputeSeconds(op, c));
    return entry->second;
  }

  std::vector<double> Totals(OpId op) {
    const std::vector<uint32_t>& list = lists_.of(op);
    if (!Whole(op)) return std::vector<double>(list.size(), LeastCompute(op));  // it has no links
    std::vector<double> total;
    total.reserve(list.size());
    for (const uint32_t c : list) {
      total.push_back(weights_.IsFree(op) ? 0 : std::min(problem_.ComputeSeconds(op, c), most_));
    }
    for (const uint32_t l : links_of_op_[op.index()]) {
      const std::span<const double> message = messages_[links_[l].message];
      const std::vector<uint32_t>& layout = SlotOf(op, links_[l].slot).of_candidate;
      for (size_t c = 0; c < list.size(); ++c) total[c] -= message[layout[list[c]]];
    }
    return total;
  }

  const SlotLayouts& SlotOf(OpId op, uint32_t slot) const {
    const OpClass& op_class = problem_.class_at(op);
    return slot < op_class.operands.size() ? op_class.operands[slot]
                                           : op_class.results[slot - op_class.operands.size()];
  }

  double VisitOp(uint32_t o, bool forward) {
    const OpId op(o);
    std::vector<int32_t> key = {static_cast<int32_t>(lists_.number(op)), forward ? -1 : -2,
                                problem_.runs.of(op) > 1 ? 1 : 0, weights_.IsFree(op) ? 1 : 0};
    std::vector<uint32_t> pushed;
    for (const uint32_t l : links_of_op_[o]) {
      if (links_[l].written == forward) pushed.push_back(l);
      key.push_back(static_cast<int32_t>(links_[l].slot));
      key.push_back(links_[l].message);
    }
    const auto [entry, is_new] = answers_.try_emplace(std::move(key));
    Answer& answer = entry->second;
    if (is_new) {
      const std::vector<double> total = Totals(op);
      const std::vector<uint32_t>& list = lists_.of(op);
      work_ += static_cast<int64_t>(list.size() * (2 + links_of_op_[o].size() + pushed.size()));
      answer.least = *std::min_element(total.begin(), total.end());
      if (!forward) answer.excess = ExcessRow(total, answer.least);
      for (const uint32_t l : pushed) {
        const std::vector<uint32_t>& layout = SlotOf(op, links_[l].slot).of_candidate;
        std::vector<double> least(links_[l].numbers->size(), kForbids);
        for (size_t c = 0; c < list.size(); ++c) least[layout[list[c]]] = std::min(least[layout[list[c]]], total[c]);
        answer.messages.push_back(Moved(links_[l].message, least, answer.least, 1.0, pushed.size()));
      }
    }
    for (size_t i = 0; i < pushed.size(); ++i) links_[pushed[i]].message = answer.messages[i];
    if (!forward) excess_of_[o] = answer.excess;
    return answer.least;
  }

  int32_t ExcessRow(std::vector<double> total, double least) {
    for (double& seconds : total) seconds -= least;
    return excess_.Add(total);
  }

  // The message once a part of what is above the least has moved; sign 1: to the tensor.
  int32_t Moved(int32_t message, std::span<const double> least, double base, double sign, size_t parts) {
    const std::span<const double> before = messages_[message];
    std::vector<double> after(before.begin(), before.end());
    for (size_t i = 0; i < after.size(); ++i) {
      if (std::isinf(least[i])) {
        after[i] = sign * most_;
        continue;
      }
      const double moved = after[i] + sign * (least[i] - base) / static_cast<double>(parts);
      after[i] = std::round(std::clamp(moved, -most_, most_) / grain_) * grain_;
    }
    return messages_.Add(after);
  }

  double VisitTensor(uint32_t f, bool forward) {
    TensorPart& part = factors_[f];
    const std::vector<uint32_t>& links = links_of_factor_[f];
    // To the readers in the sweep forward, to the producer in the one backward. The source of a tie comes before it.
    std::vector<uint32_t> pushed;
    std::vector<int32_t> key = {-3,
                                static_cast<int32_t>(type_of_[part.tensor.index()]),
                                forward ? -1 : -2,
                                part.start.size() == 1 ? static_cast<int32_t>(part.start[0]) : -1,
                                accumulators_.contains(part.tensor) ? 1 : 0,
                                part.runs > 1 ? 1 : 0};
    for (const uint32_t l : links) {
      // `numbers` is one object per class, slot and type.
      key.push_back(number_of_numbers(links_[l].numbers));
      key.push_back(links_[l].message);
      const bool earlier = links_[l].written || links_[l].tie;  // what is at its other end
      if (earlier != forward) pushed.push_back(l);
      key.push_back(links_[l].written);
    }
    key.push_back(-4);
    for (const uint32_t l : ties_of_factor_[f]) key.push_back(links_[l].message);
    const auto [entry, is_new] = answers_.try_emplace(std::move(key));
    Answer& answer = entry->second;
    if (is_new) Ask(part, f, pushed, forward, answer);
    size_t i = 0;
    for (const uint32_t l : pushed) links_[l].message = answer.messages[i++];
    if (forward) {
      for (const uint32_t l : ties_of_factor_[f]) links_[l].message = answer.messages[i++];
    }
    return answer.least;
  }

  void Ask(const TensorPart& part, uint32_t f, const std::vector<uint32_t>& pushed, bool forward, Answer& answer) {
    // Everything is measured in what a step pays for one of the tensor's boxings.
    const auto runs = static_cast<double>(part.runs);
    const size_t size = part.factor.size();
    std::vector<double> written(size, kForbids);
    for (const uint32_t number : part.start) written[number] = 0;
    std::vector<std::vector<double>> readers;
    for (const uint32_t l : links_of_factor_[f]) {
      if (!links_[l].written) readers.emplace_back(size, kForbids);
      std::vector<double>& costs = links_[l].written ? written : readers.back();
      const std::span<const double> message = messages_[links_[l].message];
      for (size_t i = 0; i < message.size(); ++i) costs[(*links_[l].numbers)[i]] = message[i] / runs;
    }
    for (const uint32_t l : ties_of_factor_[f]) {
      const std::span<const double> message = messages_[links_[l].message];
      for (size_t i = 0; i < message.size(); ++i) written[(*links_[l].numbers)[i]] -= message[i] / runs;
    }
    const bool ties = forward && !ties_of_factor_[f].empty();
    const bool tied = !forward && !pushed.empty() && links_[pushed.back()].tie;
    const TensorFactor::Marginals least = part.factor.Solve(written, readers, forward || tied, !forward || ties);
    work_ += least.work;
    answer.least = std::min(least.least * runs, most_);
    const size_t parts = pushed.size() + (ties ? ties_of_factor_[f].size() : 0);
    size_t reader = 0;
    for (const uint32_t l : pushed) {
      if (links_[l].tie) reader = least.readers.size() - 1;  // the last one
      const std::vector<double>& of = links_[l].written ? least.written : least.readers[reader++];
      answer.messages.push_back(Moved(links_[l].message, At(of, *links_[l].numbers, runs), answer.least, -1, parts));
    }
    if (!ties) return;
    for (const uint32_t l : ties_of_factor_[f])
      answer.messages.push_back(
          Moved(links_[l].message, At(least.written, *links_[l].numbers, runs), answer.least, 1, parts));
  }

  static std::vector<double> At(const std::vector<double>& costs, const std::vector<uint32_t>& numbers, double runs) {
    std::vector<double> result;
    for (const uint32_t number : numbers) result.push_back(costs[number] * runs);
    return result;
  }

  int32_t number_of_numbers(const std::vector<uint32_t>* numbers) {
    return numbers_known_.try_emplace(numbers, static_cast<int32_t>(numbers_known_.size())).first->second;
  }

  // Forgets messages that no variable has any more, and what was asked of them.
  void Compact() {
    answers_.clear();
    NumberRows<double> kept;
    for (Link& link : links_) link.message = kept.Add(messages_[link.message]);
    messages_ = std::move(kept);
  }

  const Problem& problem_;
  const CandidateLists& lists_;
  const PriceWeights weights_;
  const double most_;  // a cost of this forbids
  const double grain_;
  std::vector<uint32_t> type_of_;  // per tensor
  std::vector<std::unique_ptr<LayoutGraph>> graphs_;
  std::map<std::array<uint32_t, 3>, std::unique_ptr<std::vector<uint32_t>>> numbers_;
  std::unordered_map<const std::vector<uint32_t>*, int32_t> numbers_known_;
  std::vector<TensorPart> factors_;
  std::set<TensorId> accumulators_;
  std::vector<int32_t> factor_of_;  // per tensor; -1
  std::vector<Link> links_;
  std::vector<std::vector<uint32_t>> links_of_op_, links_of_factor_, ties_of_factor_;
  std::vector<Node> order_;
  NumberRows<double> messages_;
  std::unordered_map<std::vector<int32_t>, Answer, IntsHash> answers_;
  std::map<std::pair<uint32_t, int64_t>, double> least_compute_;  // by number of the list, and runs
  NumberRows<double> excess_;       // seconds above the least value of an op's factor, per candidate
  std::vector<int32_t> excess_of_;  // per op; -1: none
  double bound_ = 0;
  double before_ = 0;  // the bound before the last sweep backward
  int64_t work_ = 0;
};

LayoutBound::LayoutBound(const Problem& problem, const CandidateLists& lists, double upper, const PriceWeights& weights)
    : ascent_(std::make_unique<Ascent>(problem, lists, upper, weights)) {}
LayoutBound::~LayoutBound() = default;
void LayoutBound::Ascend(int64_t most_work, const std::function<bool()>& stop) { ascent_->Ascend(most_work, stop); }
double LayoutBound::bound() const { return ascent_->bound(); }
std::vector<double> LayoutBound::Excess(OpId op) const { return ascent_->Excess(op); }
std::vector<int32_t> LayoutBound::KeyOf(OpId op) const { return ascent_->KeyOf(op); }

}  // namespace sbp
