#include "render/graph_drawing.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <utility>
#include <vector>

#include "render/dot.h"
#include "render/frames.h"

namespace sbp {
namespace {

using Arc = std::pair<uint32_t, uint32_t>;  // from the upper node to the lower one

// The backward pass runs upwards, and updates hang beside it.
std::vector<Arc> Constraints(const View& view) {
  std::vector<Arc> arcs;
  for (const ViewEdge& edge : view.edges) {
    if (edge.kind == ViewEdge::Kind::kGradient) continue;
    const bool up = edge.kind == ViewEdge::Kind::kBackward;
    arcs.emplace_back(up ? edge.to : edge.from, up ? edge.from : edge.to);
  }
  return arcs;
}

class Ranks {
 public:
  explicit Ranks(const View& view) : below_(view.nodes.size()), rank_(view.nodes.size(), 0), above_(rank_) {
    for (const auto& [from, to] : Constraints(view)) {
      below_[from].push_back(to);
      ++above_[to];
    }
  }

  // Of each node one more than of all above it; a node without any stands right above what it leads to.
  std::vector<int64_t> Find() {
    const std::vector<int64_t> numbers_above = above_;
    std::vector<uint32_t> order;
    std::vector<bool> placed(rank_.size(), false);
    for (uint32_t next = 0; next < rank_.size(); ++next) {
      // First all that wait for nothing; where all wait, for each other, the first of them.
      if (!placed[next] && above_[next] == 0) PlaceFrom(next, placed, order);
    }
    for (uint32_t next = 0; next < rank_.size(); ++next) {
      if (!placed[next]) PlaceFrom(next, placed, order);
    }
    for (const uint32_t node : order) {
      if (numbers_above[node] > 0 || below_[node].empty()) continue;
      int64_t highest = rank_[below_[node].front()];
      for (const uint32_t to : below_[node]) highest = std::min(highest, rank_[to]);
      rank_[node] = std::max(rank_[node], highest - 1);
    }
    return rank_;
  }

 private:
  void PlaceFrom(uint32_t first, std::vector<bool>& placed, std::vector<uint32_t>& order) {
    std::vector<uint32_t> ready = {first};
    placed[first] = true;
    while (!ready.empty()) {
      const uint32_t node = ready.back();
      ready.pop_back();
      order.push_back(node);
      for (const uint32_t to : below_[node]) {
        if (placed[to]) continue;
        rank_[to] = std::max(rank_[to], rank_[node] + 1);
        if (--above_[to] > 0) continue;
        placed[to] = true;
        ready.push_back(to);
      }
    }
  }

  std::vector<std::vector<uint32_t>> below_;
  std::vector<int64_t> rank_, above_;  // above_: how many nodes above it are not placed yet
};

}  // namespace

int64_t RanksCrossed(const View& view) {
  const std::vector<int64_t> ranks = Ranks(view).Find();
  int64_t crossed = 0;
  for (const ViewEdge& edge : view.edges) {
    crossed += std::max<int64_t>(std::abs(ranks[edge.to] - ranks[edge.from]), 1);
  }
  return crossed;
}

Result<std::string> DrawGraph(const Plan& plan, const RenderOptions& options) {
  constexpr size_t kFewestDrawn = 40;
  for (size_t most = kMaxDrawn;; most = std::max(kFewestDrawn, most * 3 / 4)) {
    SBP_ASSIGN_OR_RETURN(View view, MakeView(plan, options, most));
    if (!view.training) {  // whose ranks are of the whole picture
      DissolveEnteredAgain(view);
      SplitIntoColumns(view);
    }
    if (RanksCrossed(view) <= kMostRanksCrossed || most <= kFewestDrawn) return WriteDot(view);
  }
}

}  // namespace sbp
