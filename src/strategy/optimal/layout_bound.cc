#include "strategy/optimal/layout_bound.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>

#include "base/hash.h"
#include "base/ids.h"
#include "boxing/op_seconds.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "problem/problem.h"
#include "sbp/sbp.h"
#include "search/number_rows.h"
#include "strategy/optimal/factor_graph.h"
#include "strategy/optimal/price_weights.h"
#include "strategy/optimal/tensor_factor.h"

namespace sbp {
namespace {

constexpr double kForbids = std::numeric_limits<double>::infinity();
// Messages are multiples of this part of the step: so coarse that those of equal layers soon are equal, and are asked
// about once; so fine that what is left behind hardly lowers the bound.
constexpr double kGrain = 1.0 / (int64_t{1} << 22);
constexpr double kMost = 4;          // of the step: a cost of that forbids
constexpr double kLeastGain = 3e-4;  // of the bound, by a sweep; less: it has come to rest
constexpr size_t kNodesPerLook = 64;
constexpr double kRoundingOfSums = 1e-9;  // of the bound: what sums of doubles may be off

}  // namespace

class LayoutBound::Ascent {
 public:
  Ascent(const Problem& problem, const CandidateLists& lists, double upper, const PriceWeights& weights,
         const Ascent* like)
      : problem_(problem),
        lists_(lists),
        weights_(weights),
        graph_(problem, weights),
        grain_((upper + 1e-9) * kGrain),
        most_(std::ceil(kMost / kGrain) * grain_) {
    for (const Link& link : graph_.links())
      message_of_.push_back(messages_.Add(std::vector<double>(link.numbers->size())));
    if (like != nullptr) BeginLike(*like);
    excess_of_.assign(problem.num_ops(), -1);
  }

  void Ascend(int64_t most_work, const std::function<bool()>& stop, double enough) {
    const int64_t last = work_ + most_work;
    const auto late = [&] { return work_ > last || (stop && stop()); };
    do {
      const double before = bound_;
      bound_ = std::max(bound_, Sweep(true, late));
      Compact();
      if (late() || this->bound() >= enough) break;
      excess_ = {};
      before_ = bound_;
      bound_ = std::max(bound_, Sweep(false, late));
      Compact();
      if (bound_ - before <= kLeastGain * bound_ || this->bound() >= enough) break;
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
  using Link = FactorGraph::Link;
  using TensorPart = FactorGraph::TensorPart;

  struct Answer {
    double least = 0;
    std::vector<int32_t> messages;  // of the links that were pushed along, in order
    int32_t excess = -1;            // ops, backward: row of excess_
  };
  struct IntsHash {
    size_t operator()(const std::vector<int32_t>& key) const { return HashRange(key.size(), key); }
  };

  // Whatever the messages, the least values are a bound. Which tensors have a factor depends on weights, too: links
  // that the other one has in another place, or with other layouts, begin with nothing.
  void BeginLike(const Ascent& like) {
    begins_like_ = true;
    const auto place = [](const FactorGraph& graph, const Link& link) {
      return std::tuple(graph.factors()[link.tensor].tensor, link.other, link.tie, link.slot, link.written);
    };
    std::unordered_map<int32_t, int32_t> taken;  // rows of like's to rows of ours
    for (size_t l = 0; l < std::min(message_of_.size(), like.message_of_.size()); ++l) {
      if (place(graph_, graph_.link(l)) != place(like.graph_, like.graph_.link(l))) continue;
      const std::span<const double> before = like.messages_[like.message_of_[l]];
      if (before.size() != graph_.link(l).numbers->size()) continue;
      const auto [entry, is_new] = taken.try_emplace(like.message_of_[l]);
      if (is_new) {
        std::vector<double> message(before.begin(), before.end());
        for (double& seconds : message) {
          const bool forbids = std::abs(seconds) >= like.most_;
          seconds = forbids ? std::copysign(most_, seconds)
                            : std::clamp(std::round(seconds / grain_) * grain_ + 0.0, -most_, most_);  // no -0
        }
        entry->second = messages_.Add(message);
      }
      message_of_[l] = entry->second;
    }
  }

  // What sums of doubles may be off.
  double Rounding() const { return kRoundingOfSums * bound_; }

  // Every factor's least value, after what the ones before it have moved to it. Nothing that moves later makes it
  // smaller, so that the sum is a bound when the sweep is done. Cut short, it is one for the first sweep only, where
  // all messages were zero: then what was not visited is as it was.
  double Sweep(bool forward, const std::function<bool()>& late) {
    double sum = 0;
    bool cut = false;
    if (!forward) excess_of_.assign(problem_.num_ops(), -1);
    const std::vector<FactorGraph::Node>& order = graph_.order();
    for (size_t i = 0; i < order.size(); ++i) {
      const FactorGraph::Node& node = order[forward ? i : order.size() - 1 - i];
      cut = cut || ((i + 1) % kNodesPerLook == 0 && late());
      if (!cut) {
        sum += node.op ? VisitOp(node.index, forward) : VisitTensor(node.index, forward);
      } else if (bound_ > 0 || begins_like_) {
        return 0;
      } else if (node.op) {
        sum += LeastCompute(OpId(node.index));
      }
    }
    return sum;
  }

  double LeastCompute(OpId op) {
    const double weight = weights_.OfOp(op);
    if (weight == 0) return 0;
    const auto [entry, is_new] = least_compute_.try_emplace({lists_.number(op), problem_.runs.of(op)}, most_);
    if (!is_new) return weight * entry->second;
    if (!graph_.IsWhole(op)) {
      const double once = LeastOpSeconds(*problem_.class_at(op).list->instance, problem_.mesh,
                                         problem_.boxing->cluster(), problem_.FusionOf(problem_.class_at(op)));
      entry->second = std::min(entry->second, once * static_cast<double>(problem_.runs.of(op)));
      return weight * entry->second;
    }
    for (const uint32_t c : lists_.of(op)) entry->second = std::min(entry->second, problem_.ComputeSeconds(op, c));
    return weight * entry->second;
  }

  std::vector<double> Totals(OpId op) {
    const std::vector<uint32_t>& list = lists_.of(op);
    if (!graph_.IsWhole(op)) return std::vector<double>(list.size(), LeastCompute(op));  // it has no links
    std::vector<double> total;
    total.reserve(list.size());
    const double weight = weights_.OfOp(op);
    for (const uint32_t c : list) {
      total.push_back(weight == 0 ? 0 : std::min(weight * problem_.ComputeSeconds(op, c), most_));
    }
    for (const uint32_t l : graph_.links_of_op(op.index())) {
      const std::span<const double> message = messages_[message_of_[l]];
      const std::vector<uint32_t>& layout = graph_.SlotOf(op, graph_.link(l).slot).of_candidate;
      for (size_t c = 0; c < list.size(); ++c) total[c] -= message[layout[list[c]]];
    }
    return total;
  }

  int32_t NumberOfWeight(double weight) {
    return weight_numbers_.try_emplace(weight, static_cast<int32_t>(weight_numbers_.size())).first->second;
  }

  double VisitOp(uint32_t o, bool forward) {
    const OpId op(o);
    std::vector<int32_t> key = {static_cast<int32_t>(lists_.number(op)), forward ? -1 : -2,
                                problem_.runs.of(op) > 1 ? 1 : 0, NumberOfWeight(weights_.OfOp(op))};
    std::vector<uint32_t> pushed;
    for (const uint32_t l : graph_.links_of_op(o)) {
      if (graph_.link(l).written == forward) pushed.push_back(l);
      key.push_back(static_cast<int32_t>(graph_.link(l).slot));
      key.push_back(message_of_[l]);
    }
    const auto [entry, is_new] = answers_.try_emplace(std::move(key));
    Answer& answer = entry->second;
    if (is_new) {
      const std::vector<double> total = Totals(op);
      const std::vector<uint32_t>& list = lists_.of(op);
      work_ += static_cast<int64_t>(list.size() * (2 + graph_.links_of_op(o).size() + pushed.size()));
      answer.least = *std::min_element(total.begin(), total.end());
      if (!forward) answer.excess = ExcessRow(total, answer.least);
      for (const uint32_t l : pushed) {
        const std::vector<uint32_t>& layout = graph_.SlotOf(op, graph_.link(l).slot).of_candidate;
        std::vector<double> least(graph_.link(l).numbers->size(), kForbids);
        for (size_t c = 0; c < list.size(); ++c) least[layout[list[c]]] = std::min(least[layout[list[c]]], total[c]);
        answer.messages.push_back(Moved(message_of_[l], least, answer.least, 1.0, pushed.size()));
      }
    }
    for (size_t i = 0; i < pushed.size(); ++i) message_of_[pushed[i]] = answer.messages[i];
    if (!forward) excess_of_[o] = answer.excess;
    return answer.least;
  }

  int32_t ExcessRow(std::vector<double> total, double least) {
    for (double& seconds : total) seconds -= least;
    return excess_.Add(total);
  }

  // The message once a part of what is above the least has moved, in whole grains and no more than there is, so that
  // the least stays as it is; sign 1: to the tensor.
  int32_t Moved(int32_t message, std::span<const double> least, double base, double sign, size_t parts) {
    const std::span<const double> before = messages_[message];
    std::vector<double> after(before.begin(), before.end());
    for (size_t i = 0; i < after.size(); ++i) {
      if (std::isinf(least[i])) {
        after[i] = sign * most_;
        continue;
      }
      const double grains = std::floor((least[i] - base) / (grain_ * static_cast<double>(parts)));
      after[i] = std::clamp(after[i] + sign * grains * grain_, -most_, most_);
    }
    return messages_.Add(after);
  }

  double VisitTensor(uint32_t f, bool forward) {
    const TensorPart& part = graph_.factors()[f];
    const std::vector<uint32_t>& links = graph_.links_of_factor(f);
    // To the readers in the sweep forward, to the producer in the one backward. The source of a tie comes before it.
    std::vector<uint32_t> pushed;
    std::vector<int32_t> key = {-3,
                                static_cast<int32_t>(graph_.type_of(part.tensor)),
                                forward ? -1 : -2,
                                part.start.size() == 1 ? static_cast<int32_t>(part.start[0]) : -1,
                                graph_.is_accumulator(part.tensor) ? 1 : 0,
                                part.runs > 1 ? 1 : 0,
                                static_cast<int32_t>(part.ends.size())};
    for (const uint32_t l : links) {
      // `numbers` is one object per class, slot and type.
      key.push_back(number_of_numbers(graph_.link(l).numbers));
      key.push_back(message_of_[l]);
      const bool earlier = graph_.link(l).written || graph_.link(l).tie;  // what is at its other end
      if (earlier != forward) pushed.push_back(l);
      key.push_back(graph_.link(l).written);
    }
    key.push_back(-4);
    for (const uint32_t l : graph_.ties_of_factor(f)) key.push_back(message_of_[l]);
    const auto [entry, is_new] = answers_.try_emplace(std::move(key));
    Answer& answer = entry->second;
    if (is_new) Ask(part, f, pushed, forward, answer);
    size_t i = 0;
    for (const uint32_t l : pushed) message_of_[l] = answer.messages[i++];
    if (forward) {
      for (const uint32_t l : graph_.ties_of_factor(f)) message_of_[l] = answer.messages[i++];
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
    for (const uint32_t l : graph_.links_of_factor(f)) {
      if (!graph_.link(l).written) readers.emplace_back(size, kForbids);
      std::vector<double>& costs = graph_.link(l).written ? written : readers.back();
      const std::span<const double> message = messages_[message_of_[l]];
      for (size_t i = 0; i < message.size(); ++i) costs[(*graph_.link(l).numbers)[i]] = message[i] / runs;
    }
    for (const uint32_t l : graph_.ties_of_factor(f)) {
      const std::span<const double> message = messages_[message_of_[l]];
      for (size_t i = 0; i < message.size(); ++i) written[(*graph_.link(l).numbers)[i]] -= message[i] / runs;
    }
    if (!part.ends.empty()) {
      readers.emplace_back(size, kForbids);
      for (const uint32_t number : part.ends) readers.back()[number] = 0;
    }
    const bool ties = forward && !graph_.ties_of_factor(f).empty();
    const bool tied = !forward && !pushed.empty() && graph_.link(pushed.back()).tie;
    const TensorFactor::Marginals least = part.factor.Solve(written, readers, forward || tied, !forward || ties);
    work_ += least.work;
    answer.least = std::min(least.least * runs, most_);
    const size_t parts = pushed.size() + (ties ? graph_.ties_of_factor(f).size() : 0);
    size_t reader = 0;
    for (const uint32_t l : pushed) {
      if (graph_.link(l).tie) reader = least.readers.size() - 1;  // the last one
      const std::vector<double>& of = graph_.link(l).written ? least.written : least.readers[reader++];
      answer.messages.push_back(Moved(message_of_[l], At(of, *graph_.link(l).numbers, runs), answer.least, -1, parts));
    }
    if (!ties) return;
    for (const uint32_t l : graph_.ties_of_factor(f))
      answer.messages.push_back(
          Moved(message_of_[l], At(least.written, *graph_.link(l).numbers, runs), answer.least, 1, parts));
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
    for (int32_t& message : message_of_) message = kept.Add(messages_[message]);
    messages_ = std::move(kept);
  }

  const Problem& problem_;
  const CandidateLists& lists_;
  const PriceWeights weights_;
  std::map<double, int32_t> weight_numbers_;  // of ops
  const FactorGraph graph_;
  const double grain_;
  const double most_;  // a cost of this forbids
  std::unordered_map<const std::vector<uint32_t>*, int32_t> numbers_known_;
  std::vector<int32_t> message_of_;  // per link: row of messages_
  NumberRows<double> messages_;
  std::unordered_map<std::vector<int32_t>, Answer, IntsHash> answers_;
  std::map<std::pair<uint32_t, int64_t>, double> least_compute_;  // by number of the list, and runs
  NumberRows<double> excess_;       // seconds above the least value of an op's factor, per candidate
  std::vector<int32_t> excess_of_;  // per op; -1: none
  bool begins_like_ = false;
  double bound_ = 0;
  double before_ = 0;  // the bound before the last sweep backward
  int64_t work_ = 0;
};

LayoutBound::LayoutBound(const Problem& problem, const CandidateLists& lists, double upper, const PriceWeights& weights,
                         const LayoutBound* like)
    : ascent_(std::make_unique<Ascent>(problem, lists, upper, weights, like ? like->ascent_.get() : nullptr)) {}
LayoutBound::~LayoutBound() = default;
LayoutBound::LayoutBound(LayoutBound&&) noexcept = default;
LayoutBound& LayoutBound::operator=(LayoutBound&&) noexcept = default;
void LayoutBound::Ascend(int64_t most_work, const std::function<bool()>& stop, double enough) {
  ascent_->Ascend(most_work, stop, enough);
}
double LayoutBound::bound() const { return ascent_->bound(); }
std::vector<double> LayoutBound::Excess(OpId op) const { return ascent_->Excess(op); }
std::vector<int32_t> LayoutBound::KeyOf(OpId op) const { return ascent_->KeyOf(op); }

}  // namespace sbp
