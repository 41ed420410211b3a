#include "search/wide_neighbourhood.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "search/elimination_graph.h"

namespace sbp {
namespace {

constexpr int32_t kMostRegion = 2500;                        // nodes
constexpr int32_t kMostCandidates[] = {3, 4, 6, 8, 16, 64};  // per node; one of them, by chance
constexpr double kMostWork = 14'000'000;                     // entries of all tables
constexpr double kTableShare = 0.1;                          // of the work that is left, for one table
constexpr int64_t kWorkPerNode = 1000;                       // of choosing an order, in entries
constexpr int64_t kWorkPerCandidate = 8;                     // of choosing among them

}  // namespace

void WideNeighbourhoods::SetGuide(const DualAscent& dual, std::span<const double> multipliers) {
  forced_.resize(core_.nodes.size());
  for (int32_t node = 0; node < core_.size(); ++node) {
    const std::span<const double> forced = dual.forced(node);
    forced_[node].assign(forced.begin(), forced.end());
  }
  price_sum_.assign(multipliers.size() + 1, 0);
  std::partial_sum(multipliers.begin(), multipliers.end(), price_sum_.begin() + 1);
}

// All nodes, or those nearest to a random one.
void WideNeighbourhoods::Region() {
  part_ = {};
  if (core_.size() <= kMostRegion) {
    part_.nodes.resize(core_.size());
    std::iota(part_.nodes.begin(), part_.nodes.end(), 0);
    return;
  }
  std::vector<char> seen(core_.nodes.size(), 0);
  part_.nodes.push_back(random_.Below(core_.size()));
  seen[part_.nodes[0]] = 1;
  for (size_t next = 0; next < part_.nodes.size(); ++next) {
    for (const Core::Link& link : core_.links[part_.nodes[next]]) {
      if (seen[link.other] || part_.nodes.size() >= kMostRegion) continue;
      seen[link.other] = 1;
      part_.nodes.push_back(link.other);
    }
  }
}

// The `most` candidates of least bound, and what is chosen now.
void WideNeighbourhoods::Candidates(std::span<const int32_t> choice, int32_t most) {
  for (const int32_t node : part_.nodes) {
    std::vector<int32_t> candidates(core_.candidates(node));
    std::iota(candidates.begin(), candidates.end(), 0);
    if (static_cast<int32_t>(candidates.size()) > most) {
      const std::vector<double>& forced = forced_[node];
      const auto before = [&](int32_t a, int32_t b) { return std::pair(forced[a], a) < std::pair(forced[b], b); };
      std::nth_element(candidates.begin(), candidates.begin() + most, candidates.end(), before);
      candidates.resize(most);
      std::sort(candidates.begin(), candidates.end());
      const auto at = std::lower_bound(candidates.begin(), candidates.end(), choice[node]);
      if (at == candidates.end() || *at != choice[node]) candidates.insert(at, choice[node]);
    }
    part_.candidates.push_back(std::move(candidates));
  }
}

// Eliminates in thought. Where the least table is too large, the busiest of its nodes is fixed instead.
void WideNeighbourhoods::FixSome() {
  EliminationGraph graph = GraphOf(core_, part_);
  const size_t size = part_.nodes.size();
  std::vector<char> fixed(size, 0);
  double work_left = kMostWork;
  while (!graph.empty()) {
    int32_t place = graph.Least();
    const bool fixes = graph.TableOf(place) > kTableShare * work_left;
    if (fixes) {
      const auto busy = [&](int32_t p) {
        if (part_.candidates[p].size() == 1) return 0.0;
        return static_cast<double>(graph.adjacent(p).size()) * (1 + 0.5 * random_.Unit());
      };
      double most = busy(place);
      for (const int32_t other : graph.adjacent(graph.Least())) {
        const double now = busy(other);
        if (now > most) {
          most = now;
          place = other;
        }
      }
      fixed[place] = 1;
    } else {
      work_left -= graph.TableOf(place);
    }
    graph.Take(place, !fixes);
  }
  EliminationPart rest;
  fixed_.clear();
  fixed_candidates_.clear();
  for (size_t i = 0; i < size; ++i) {
    (fixed[i] ? fixed_ : rest.nodes).push_back(part_.nodes[i]);
    (fixed[i] ? fixed_candidates_ : rest.candidates).push_back(std::move(part_.candidates[i]));
  }
  part_ = std::move(rest);
  for (size_t i = 0; i < part_.nodes.size(); ++i) place_of_[part_.nodes[i]] = static_cast<int32_t>(i);
}

// Every other time a fixed node takes another candidate, the rest then follows.
void WideNeighbourhoods::Disturb(std::vector<int32_t>& tried) {
  if (fixed_.empty() || random_.Below(2) == 0) return;
  const int32_t which = random_.Below(static_cast<int64_t>(fixed_.size()));
  const std::vector<int32_t>& candidates = fixed_candidates_[which];
  tried[fixed_[which]] = candidates[random_.Below(static_cast<int64_t>(candidates.size()))];
}

void WideNeighbourhoods::Costs(std::span<const int32_t> tried) {
  std::vector<double> scratch;
  std::vector<double> all;
  for (size_t i = 0; i < part_.nodes.size(); ++i) {
    const int32_t node = part_.nodes[i];
    all = core_.nodes[node].costs;
    for (const Core::Hold& hold : core_.nodes[node].holds) {
      const double price = price_sum_[hold.end] - price_sum_[hold.begin];
      if (price <= 0) continue;
      for (size_t a = 0; a < all.size(); ++a) all[a] += price * hold.usages[a];
    }
    for (const Core::Link& link : core_.links[node]) {
      if (place_of_[link.other] >= 0) continue;
      const double* row = link.by_other->Row(tried[link.other], scratch);
      for (size_t a = 0; a < all.size(); ++a) all[a] += row[a];
    }
    std::vector<double>& costs = part_.costs.emplace_back();
    for (const int32_t a : part_.candidates[i]) costs.push_back(all[a]);
  }
}

int64_t WideNeighbourhoods::Step(std::span<const int32_t> choice, std::vector<int32_t>& tried) {
  tried.assign(choice.begin(), choice.end());
  Region();
  int64_t planning = kWorkPerNode * static_cast<int64_t>(part_.nodes.size());
  for (const int32_t node : part_.nodes) planning += kWorkPerCandidate * core_.candidates(node);
  Candidates(choice, kMostCandidates[random_.Below(std::size(kMostCandidates))]);
  FixSome();
  Disturb(tried);
  Costs(tried);
  const EliminationResult result = Eliminate(core_, part_, static_cast<int64_t>(2 * kMostWork));
  for (size_t i = 0; i < part_.nodes.size(); ++i) {
    place_of_[part_.nodes[i]] = -1;
    if (result.found) tried[part_.nodes[i]] = result.choice[i];
  }
  return planning + result.work;
}

}  // namespace sbp
