#include "render/scope_cycles.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace sbp {
namespace {

constexpr size_t kMostItems = 64;  // that change their scope: more would flood the one that takes them

using Followers = std::vector<std::vector<uint32_t>>;  // per item of a scope: places of those that read it

// Tarjan's algorithm without recursion: per item the number of its component; and the sizes of those.
class Components {
 public:
  explicit Components(const Followers& after) : after_(after), low_(after.size(), 0), of_(after.size(), kNone) {
    for (uint32_t item = 0; item < after.size(); ++item) {
      if (low_[item] == 0) Visit(item);
    }
  }

  bool IsOnCycle(uint32_t item) const { return sizes_[of_[item]] > 1; }
  uint32_t Of(uint32_t item) const { return of_[item]; }
  size_t size() const { return sizes_.size(); }

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  struct Frame {
    uint32_t item;
    uint32_t number;
    size_t next;
  };

  void Enter(uint32_t item) {
    low_[item] = ++visited_;
    open_.push_back(item);
    frames_.push_back({item, visited_, 0});
  }

  void Visit(uint32_t root) {
    Enter(root);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      const uint32_t item = frame.item;
      if (frame.next < after_[item].size()) {
        const uint32_t to = after_[item][frame.next++];
        if (low_[to] == 0) {
          Enter(to);
        } else if (of_[to] == kNone) {
          low_[item] = std::min(low_[item], low_[to]);
        }
        continue;
      }
      if (low_[item] == frame.number) Close(item);
      frames_.pop_back();
      if (!frames_.empty()) low_[frames_.back().item] = std::min(low_[frames_.back().item], low_[item]);
    }
  }

  void Close(uint32_t item) {
    const uint32_t number = static_cast<uint32_t>(sizes_.size());
    sizes_.push_back(0);
    for (uint32_t last = kNone; last != item;) {
      last = open_.back();
      open_.pop_back();
      of_[last] = number;
      ++sizes_[number];
    }
  }

  const Followers& after_;
  std::vector<uint32_t> low_, of_, open_, sizes_;
  std::vector<Frame> frames_;
  uint32_t visited_ = 0;
};

class CycleBreaker {
 public:
  CycleBreaker(const Graph& graph, Outline& outline) : graph_(graph), outline_(outline) {}

  void Run() {
    FindEdges();
    for (size_t n = outline_.nodes.size(); n-- > 0;) BreakIn(static_cast<uint32_t>(n));
  }

 private:
  using Edge = std::pair<uint32_t, uint32_t>;  // ops: who writes, who reads

  // Each edge at the innermost scope around both ends.
  void FindEdges() {
    edges_.resize(outline_.nodes.size());
    for (uint32_t o = 0; o < graph_.ops.size(); ++o) {
      for (const TensorId id : graph_.OperandsOf(graph_.ops[o])) {
        if (!id.valid() || !graph_.tensor(id).producer.valid()) continue;
        const uint32_t producer = graph_.tensor(id).producer.value;
        auto a = static_cast<uint32_t>(outline_.op_node[producer]), b = static_cast<uint32_t>(outline_.op_node[o]);
        while (a != b) {
          uint32_t& up = outline_.nodes[a].depth > outline_.nodes[b].depth ? a : b;
          up = static_cast<uint32_t>(outline_.nodes[up].parent);
        }
        edges_[a].emplace_back(producer, o);
      }
    }
  }

  // Unique per item: of an op even, of a scope odd.
  static uint64_t KeyOf(const OutlineItem& item) { return uint64_t{item.index} * 2 + (item.is_op ? 0 : 1); }

  // What of a scope holds an op.
  OutlineItem ItemIn(uint32_t node, uint32_t op) const {
    OutlineItem item{true, op};
    for (auto at = static_cast<uint32_t>(outline_.op_node[op]); at != node;) {
      item = {false, at};
      at = static_cast<uint32_t>(outline_.nodes[at].parent);
    }
    return item;
  }

  Followers FollowersIn(uint32_t node) const {
    const std::vector<OutlineItem>& items = outline_.nodes[node].items;
    std::unordered_map<uint64_t, uint32_t> places;
    for (uint32_t i = 0; i < items.size(); ++i) places.emplace(KeyOf(items[i]), i);
    Followers after(items.size());
    for (const auto& [from, to] : edges_[node]) {
      after[places.at(KeyOf(ItemIn(node, from)))].push_back(places.at(KeyOf(ItemIn(node, to))));
    }
    return after;
  }

  void BreakIn(uint32_t node) {
    const auto is_scope = [](const OutlineItem& item) { return !item.is_op; };
    if (outline_.nodes[node].items.size() < 2 || std::ranges::none_of(outline_.nodes[node].items, is_scope)) return;
    {
      const Followers after = FollowersIn(node);
      const Components components(after);
      Dissolve(node, components);
    }
    const Followers after = FollowersIn(node);  // of what is left
    const Components components(after);
    TakeIn(node, components);
  }

  void Dissolve(uint32_t node, const Components& components) {
    std::vector<OutlineItem> kept;
    bool changed = false;
    for (uint32_t i = 0; i < outline_.nodes[node].items.size(); ++i) {
      const OutlineItem item = outline_.nodes[node].items[i];
      const uint32_t scope = item.is_op || !components.IsOnCycle(i) ? 0 : Innermost(item.index);
      if (scope == 0 || !IsCalledAgain(scope)) {
        kept.push_back(item);
        continue;
      }
      changed = true;
      std::vector<OutlineItem>& items = outline_.nodes[scope].items;
      for (const OutlineItem& inner : items) SetParent(inner, node);
      kept.insert(kept.end(), items.begin(), items.end());
      items.clear();
      outline_.nodes[item.index].items.clear();
      edges_[node].insert(edges_[node].end(), edges_[scope].begin(), edges_[scope].end());
    }
    if (changed) SetItems(node, std::move(kept));
  }

  // Ops on a cycle through one scope alone.
  void TakeIn(uint32_t node, const Components& components) {
    struct Cycle {
      uint32_t scopes = 0, scope = 0, ops = 0;
    };
    const std::vector<OutlineItem> items = outline_.nodes[node].items;
    std::vector<Cycle> cycles(components.size());
    for (uint32_t i = 0; i < items.size(); ++i) {
      Cycle& cycle = cycles[components.Of(i)];
      if (items[i].is_op) {
        ++cycle.ops;
      } else {
        ++cycle.scopes;
        cycle.scope = items[i].index;
      }
    }
    std::vector<OutlineItem> kept;
    for (uint32_t i = 0; i < items.size(); ++i) {
      const Cycle& cycle = cycles[components.Of(i)];
      const bool moves = items[i].is_op && components.IsOnCycle(i) && cycle.scopes == 1 && cycle.ops <= kMostItems &&
                         !outline_.nodes[cycle.scope].stays_closed;
      if (!moves) {
        kept.push_back(items[i]);
        continue;
      }
      OutlineNode& scope = outline_.nodes[cycle.scope];
      scope.items.push_back(items[i]);
      scope.first_op = std::min(scope.first_op, items[i].index);
      SetParent(items[i], cycle.scope);
    }
    if (kept.size() == items.size()) return;
    for (const OutlineItem& item : kept) {
      if (!item.is_op) SetItems(item.index, std::move(outline_.nodes[item.index].items));
    }
    SetItems(node, std::move(kept));
    std::vector<Edge> here;
    for (const Edge& edge : edges_[node]) {
      const OutlineItem from = ItemIn(node, edge.first), to = ItemIn(node, edge.second);
      const bool is_inside = !from.is_op && !to.is_op && from.index == to.index;
      (is_inside ? edges_[from.index] : here).push_back(edge);
    }
    edges_[node] = std::move(here);
  }

  void SetParent(const OutlineItem& item, uint32_t parent) {
    (item.is_op ? outline_.op_node[item.index] : outline_.nodes[item.index].parent) = static_cast<int32_t>(parent);
  }

  void SetItems(uint32_t node, std::vector<OutlineItem> items) {
    std::ranges::stable_sort(items, {}, [&](const OutlineItem& item) { return FirstOp(item); });
    outline_.nodes[node].items = std::move(items);
  }

  // Of scopes that hold nothing but another one.
  uint32_t Innermost(uint32_t node) const {
    while (outline_.nodes[node].items.size() == 1 && !outline_.nodes[node].items[0].is_op) {
      node = outline_.nodes[node].items[0].index;
    }
    return node;
  }

  uint32_t FirstOp(const OutlineItem& item) const {
    return item.is_op ? item.index : outline_.nodes[item.index].first_op;
  }

  // Its items fall into parts that no edge joins, of the same ops each.
  bool IsCalledAgain(uint32_t node) const {
    const std::vector<OutlineItem>& items = outline_.nodes[node].items;
    if (items.size() < 2 || items.size() > kMostItems) return false;
    std::vector<uint32_t> part(items.size());
    std::iota(part.begin(), part.end(), 0u);
    const Followers after = FollowersIn(node);
    const auto root = [&](uint32_t item) {
      while (part[item] != item) item = part[item] = part[part[item]];
      return item;
    };
    for (uint32_t i = 0; i < items.size(); ++i) {
      for (const uint32_t to : after[i]) part[root(to)] = root(i);
    }
    std::vector<std::vector<uint32_t>> types(items.size());
    for (uint32_t i = 0; i < items.size(); ++i) AddTypes(items[i], types[root(i)]);
    std::erase_if(types, [](const auto& of_part) { return of_part.empty(); });
    for (auto& of_part : types) std::ranges::sort(of_part);
    return types.size() > 1 && std::ranges::all_of(types, [&](const auto& of_part) { return of_part == types[0]; });
  }

  void AddTypes(const OutlineItem& item, std::vector<uint32_t>& types) const {
    if (item.is_op) {
      types.push_back(graph_.ops[item.index].type);
    } else {
      for (const uint32_t op : outline_.OpsOf(item.index)) types.push_back(graph_.ops[op].type);
    }
  }

  const Graph& graph_;
  Outline& outline_;
  std::vector<std::vector<Edge>> edges_;  // per node
};

}  // namespace

void BreakCycles(const Graph& graph, Outline& outline) { CycleBreaker(graph, outline).Run(); }

}  // namespace sbp
