// A deep model is a ribbon: hundreds of ranks high and a few nodes wide. Its nodes, in the plan's order, are cut into
// columns that Graphviz sets side by side (they share no edge); a cut edge ends in a numbered connector and goes on
// from the connector of the same number.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <tuple>
#include <vector>

#include "base/text.h"
#include "render/view.h"

namespace sbp {
namespace {

// Within equal order: what feeds an op, then the op, then what it gives.
int KindOrder(ViewNode::Kind kind) {
  switch (kind) {
    case ViewNode::Kind::kInput:
    case ViewNode::Kind::kParameter:
      return 0;
    case ViewNode::Kind::kCollective:
      return 1;
    case ViewNode::Kind::kConnector:
    case ViewNode::Kind::kOp:
    case ViewNode::Kind::kSummary:
      return 2;
    case ViewNode::Kind::kOutput:
      return 3;
  }
  return 2;
}

class ColumnSplitter {
 public:
  explicit ColumnSplitter(View& view) : view_(view) {}

  void Run() {
    Sort();
    const size_t columns = CountColumns();
    if (columns < 2) return;
    AssignColumns(columns);
    MoveGroups();
    CutEdges();
  }

 private:
  void Sort() {
    sequence_.resize(view_.nodes.size());
    std::iota(sequence_.begin(), sequence_.end(), 0);
    std::stable_sort(sequence_.begin(), sequence_.end(), [&](uint32_t a, uint32_t b) {
      const ViewNode &x = view_.nodes[a], &y = view_.nodes[b];
      return std::pair(x.order, KindOrder(x.kind)) < std::pair(y.order, KindOrder(y.kind));
    });
    position_.resize(sequence_.size());
    for (size_t i = 0; i < sequence_.size(); ++i) position_[sequence_[i]] = i;
  }

  // So many that the drawing is about twice as high as wide, by the usual size of a node with its edge label.
  size_t CountColumns() const {
    constexpr double kRankInches = 1.25, kNodeInches = 3.0, kHighness = 2.0;
    constexpr size_t kShort = 36;  // ranks that one column may always have
    std::vector<std::vector<uint32_t>> into(view_.nodes.size());
    for (const ViewEdge& edge : view_.edges) into[edge.to].push_back(edge.from);
    std::vector<size_t> rank(view_.nodes.size(), 0);
    size_t ranks = 1;
    for (uint32_t n : sequence_) {
      for (uint32_t from : into[n]) {
        if (position_[from] < position_[n]) rank[n] = std::max(rank[n], rank[from] + 1);
      }
      ranks = std::max(ranks, rank[n] + 1);
    }
    if (ranks <= kShort) return 1;
    const double width = kNodeInches * static_cast<double>(view_.nodes.size()) / static_cast<double>(ranks);
    const double columns = std::sqrt(kRankInches * static_cast<double>(ranks) / (kHighness * width));
    return std::clamp<size_t>(static_cast<size_t>(columns), 1, 12);
  }

  // Each cut is moved, by less than half a column, to where few edges cross and few frames are cut.
  void AssignColumns(size_t columns) {
    const size_t n = sequence_.size();
    std::vector<int64_t> crossing(n + 1, 0);
    for (const ViewEdge& edge : view_.edges) {
      const auto [low, high] = std::minmax(position_[edge.from], position_[edge.to]);
      ++crossing[low + 1];
      --crossing[high + 1];
    }
    std::partial_sum(crossing.begin(), crossing.end(), crossing.begin());
    column_.assign(n, 0);
    const size_t slack = n * 9 / columns / 20;
    size_t begin = 0;
    for (size_t c = 1; c <= columns; ++c) {
      size_t cut = n;
      if (c < columns) {
        const size_t target = n * c / columns;
        cut = target;
        double least = 1e9;
        for (size_t at = std::max(target - slack, begin + 1); at <= target + slack && at < n; ++at) {
          const double distance = std::abs(static_cast<double>(at) - static_cast<double>(target));
          const double price = CutPrice(at, crossing) + 6 * distance / static_cast<double>(slack + 1);
          if (price < least) std::tie(least, cut) = std::pair(price, at);
        }
      }
      for (size_t i = begin; i < cut; ++i) column_[sequence_[i]] = static_cast<uint32_t>(c - 1);
      begin = std::max(begin, cut);
    }
  }

  double CutPrice(size_t at, const std::vector<int64_t>& crossing) const {
    int64_t frames = 0;  // around both sides of the cut
    int32_t a = view_.nodes[sequence_[at - 1]].group, b = view_.nodes[sequence_[at]].group;
    while (a != b) (a > b ? a : b) = view_.groups[std::max(a, b)].parent;  // parents have smaller numbers
    for (; a > 0; a = view_.groups[a].parent) ++frames;
    return static_cast<double>(crossing[at] + 4 * frames);
  }

  void MoveGroups() {
    const std::vector<ViewGroup> old = view_.groups;
    std::map<std::pair<int32_t, uint32_t>, int32_t> moved;
    std::vector<bool> seen(old.size(), false);
    for (uint32_t n : sequence_) {
      std::vector<int32_t> chain;
      for (int32_t g = view_.nodes[n].group; g > 0 && !moved.contains({g, column_[n]}); g = old[g].parent)
        chain.push_back(g);
      for (auto g = chain.rbegin(); g != chain.rend(); ++g) {
        ViewGroup group = old[*g];
        group.parent = group.parent > 0 ? moved.at({group.parent, column_[n]}) : 0;
        int32_t index = *g;
        if (seen[*g]) {
          group.label += " (continued)";
          index = static_cast<int32_t>(view_.groups.size());
          view_.groups.push_back(group);
        } else {
          view_.groups[*g] = group;
          seen[*g] = true;
        }
        moved[{*g, column_[n]}] = index;
      }
      if (view_.nodes[n].group > 0) view_.nodes[n].group = moved.at({view_.nodes[n].group, column_[n]});
    }
  }

  void CutEdges() {
    std::map<uint32_t, uint32_t> number;                              // source node -> connector number
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> out_at, in_at;  // (source, column) -> connector node
    std::map<std::pair<uint32_t, uint32_t>, ViewEdge> kept;
    const size_t edges = view_.edges.size();
    for (size_t e = 0; e < edges; ++e) {
      const ViewEdge edge = view_.edges[e];
      const uint32_t from = column_[edge.from], to = column_[edge.to];
      if (from == to) {
        kept[{edge.from, edge.to}] = edge;
        continue;
      }
      const uint32_t id = number.try_emplace(edge.from, static_cast<uint32_t>(number.size() + 1)).first->second;
      const uint32_t out = Connector(out_at, edge.from, from, id, edge.from);
      const uint32_t in = Connector(in_at, edge.from, to, id, edge.to);
      ViewEdge head = edge;
      head.to = out;
      head.label.clear();
      kept.try_emplace({head.from, head.to}, head);
      ViewEdge tail = edge;
      tail.from = in;
      kept.try_emplace({tail.from, tail.to}, tail);
    }
    view_.edges.clear();
    for (auto& [ends, edge] : kept) view_.edges.push_back(std::move(edge));
  }

  uint32_t Connector(std::map<std::pair<uint32_t, uint32_t>, uint32_t>& at, uint32_t source, uint32_t column,
                     uint32_t id, uint32_t beside) {
    const auto [found, fresh] = at.try_emplace({source, column}, static_cast<uint32_t>(view_.nodes.size()));
    if (!fresh) return found->second;
    ViewNode node;
    node.kind = ViewNode::Kind::kConnector;
    node.title = StrCat(id);
    node.tooltip = view_.nodes[source].title;
    node.group = view_.nodes[beside].group;
    node.order = view_.nodes[beside].order;
    view_.nodes.push_back(std::move(node));
    return found->second;
  }

  View& view_;
  std::vector<uint32_t> sequence_;  // nodes in the plan's order
  std::vector<size_t> position_;    // and back
  std::vector<uint32_t> column_;
};

}  // namespace

void SplitIntoColumns(View& view) { ColumnSplitter(view).Run(); }

}  // namespace sbp
