#include "strategy/optimal/network_size.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/checked_math.h"
#include "base/hash.h"
#include "base/ids.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "problem/problem.h"

namespace sbp {
namespace {

// What a table of pairs (written, hub) of one tensor may have; of all that are not alike; of all, alike or not (the
// search visits each).
constexpr int64_t kMaxPairsOfTensor = 4096;
constexpr int64_t kMaxDistinctPairs = 400'000;
constexpr int64_t kMaxPairsInAll = 20'000'000;
constexpr int64_t kMaxHubsChosen = 48;             // LayoutNetworkBuilder's
constexpr int64_t kMaxArcsSearched = 300'000'000;  // that searches for paths look at
constexpr size_t kLeastCandidates = 2;

class NetworkSize {
 public:
  NetworkSize(const Problem& problem, const CandidateLists& lists, bool chosen)
      : problem_(problem), lists_(lists), chosen_(chosen) {}

  bool Fits() {
    for (size_t t = 0; t < problem_.graph->tensors.size(); ++t) {
      if (!Count(TensorId(t))) return false;
    }
    return true;
  }

 private:
  struct KeyHash {
    size_t operator()(const std::vector<uint32_t>& key) const { return HashRange(key.size(), key); }
  };

  // Distinct layouts of an op's operand or result over its list.
  int64_t LayoutsOf(OpId op, uint32_t slot) {
    const auto [entry, is_new] = layouts_.try_emplace({lists_.number(op), slot}, 0);
    if (is_new) {
      const OpClass& op_class = problem_.class_at(op);
      const size_t operands = op_class.operands.size();
      const SlotLayouts& of = slot < operands ? op_class.operands[slot] : op_class.results[slot - operands];
      std::unordered_set<uint32_t> distinct;
      for (const uint32_t c : lists_.of(op)) distinct.insert(of.of_candidate[c]);
      entry->second = static_cast<int64_t>(distinct.size());
    }
    return entry->second;
  }

  // Layouts of a type, as candidates of ops use them: one kind of partial values as a rule.
  int64_t MostLayouts(const TensorType& type) const {
    int64_t most = 1;
    for (int axis = 0; axis < problem_.mesh.num_axes(); ++axis) {
      if (problem_.mesh.size(axis) > 1) most = SaturatingMul(most, type.rank() + 2);
    }
    return most;
  }

  bool Count(TensorId tensor) {
    const Tensor& facts = problem_.graph->tensor(tensor);
    const auto [begin, end] = problem_.uses.of(tensor);
    if (begin == end) return true;
    std::vector<uint32_t> key;
    for (const Use* use = begin; use != end; ++use) {
      key.push_back(lists_.number(use->op));
      key.push_back(static_cast<uint32_t>(use->operand));
      if (key.size() > 64) break;
    }
    key.push_back(facts.producer.valid() ? lists_.number(facts.producer) : ~0u);
    key.push_back(static_cast<uint32_t>(facts.producer_index));
    const auto [known, is_new] = pairs_.try_emplace(std::move(key), 0);
    if (is_new) {
      const int64_t most = MostLayouts(facts.type);
      int64_t wanted = 0;
      for (const Use* use = begin; use != end && wanted < most; ++use)
        wanted += LayoutsOf(use->op, static_cast<uint32_t>(use->operand));
      wanted = std::min(wanted, most);
      if (chosen_) wanted = std::min(wanted, kMaxHubsChosen);
      const auto operands =
          facts.producer.valid() ? static_cast<uint32_t>(problem_.class_at(facts.producer).operands.size()) : 0;
      const int64_t written = facts.producer.valid() ? LayoutsOf(facts.producer, operands + facts.producer_index)
                              : chosen_              ? wanted + 2
                                                     : std::min<int64_t>(most, 128);
      known->second = SaturatingMul(std::min(written, most), wanted);
      distinct_ += known->second;
      // A search from each layout of a type: boxing/search.h.
      const int64_t arcs = SaturatingMul(most, problem_.mesh.num_axes() * (facts.type.rank() + 2));
      int64_t& searches = searches_[facts.type];
      const int64_t more = std::min(std::min(written, most) + wanted, most - searches);
      searches += more;
      arcs_ = SaturatingAdd(arcs_, SaturatingMul(more, arcs));
    }
    in_all_ += known->second;
    return known->second <= kMaxPairsOfTensor && distinct_ <= kMaxDistinctPairs && in_all_ <= kMaxPairsInAll &&
           arcs_ <= kMaxArcsSearched;
  }

  const Problem& problem_;
  const CandidateLists& lists_;
  const bool chosen_;
  std::map<std::array<uint32_t, 2>, int64_t> layouts_;
  std::unordered_map<std::vector<uint32_t>, int64_t, KeyHash> pairs_;
  std::unordered_map<TensorType, int64_t> searches_;
  int64_t distinct_ = 0, in_all_ = 0, arcs_ = 0;
};

// The `most` candidates of least excess below `limit`; of equal ones the first.
CandidateLists::List Best(const CandidateLists::List& all, const CandidateLists::List& among,
                          const std::vector<double>& excess, double limit, size_t most) {
  std::vector<uint32_t> order;
  auto next = among.begin();  // both ascend
  for (uint32_t i = 0; i < all.size(); ++i) {
    while (next != among.end() && *next < all[i]) ++next;
    if (next != among.end() && *next == all[i] && excess[i] < limit) order.push_back(i);
  }
  const size_t count = std::min(most, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<int64_t>(count), order.end(),
                    [&](uint32_t a, uint32_t b) { return excess[a] < excess[b] || (excess[a] == excess[b] && a < b); });
  CandidateLists::List best;
  for (size_t i = 0; i < count; ++i) best.push_back(all[order[i]]);
  return best;
}

}  // namespace

bool FitsNetwork(const Problem& problem, const CandidateLists& lists, bool chosen) {
  return NetworkSize(problem, lists, chosen).Fits();
}

CandidateLists ChooseCandidates(const Problem& problem, const CandidateLists& all, const CandidateLists& among,
                                const LayoutBound& bound, double upper, std::span<const Assignment> kept, size_t most) {
  const double limit = std::max(0.0, upper - bound.bound());
  for (;; most /= 2) {
    CandidateLists chosen(problem);
    std::map<std::vector<int32_t>, CandidateLists::List> best;
    for (size_t o = 0; o < problem.num_ops(); ++o) {
      const OpId op(o);
      const auto [entry, is_new] = best.try_emplace(bound.KeyOf(op));
      if (is_new) entry->second = Best(all.of(op), among.of(op), bound.Excess(op), limit, most);
      CandidateLists::List list = entry->second;
      for (const Assignment& assignment : kept) {
        const uint32_t candidate = assignment.ops[o].candidate;
        if (std::binary_search(all.of(op).begin(), all.of(op).end(), candidate)) list.push_back(candidate);
      }
      if (list.empty()) list.push_back(all.of(op).back());
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
      chosen.Add(op, std::move(list));
    }
    if (most <= kLeastCandidates || FitsNetwork(problem, chosen, true)) return chosen;
  }
}

}  // namespace sbp
