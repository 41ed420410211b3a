#include "render/frames.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace sbp {
namespace {

// What stands in a frame: an inner frame g as g, a node n as -1 - n.
using Item = int64_t;
using Followers = std::map<Item, std::set<Item>>;

class Dissolver {
 public:
  explicit Dissolver(View& view) : view_(view) { depth_.resize(view.groups.size(), 0); }

  // Each round takes away a frame; there are as many as groups.
  void Run() {
    while (true) {
      for (size_t g = 1; g < depth_.size(); ++g) depth_[g] = depth_[view_.groups[g].parent] + 1;  // parents come first
      const int32_t group = FindEnteredAgain();
      if (group < 0) return;
      Dissolve(group);
    }
  }

 private:
  // The innermost frame around both ends of an edge, and what of it holds each.
  struct Place {
    int32_t group = 0;
    Item from = 0, to = 0;
  };
  Place PlaceOf(const ViewEdge& edge) const {
    int32_t a = view_.nodes[edge.from].group, b = view_.nodes[edge.to].group;
    Place place{0, -1 - static_cast<Item>(edge.from), -1 - static_cast<Item>(edge.to)};
    while (a != b) {
      if (depth_[a] >= depth_[b]) {
        place.from = a;
        a = view_.groups[a].parent;
      } else {
        place.to = b;
        b = view_.groups[b].parent;
      }
    }
    place.group = a;
    return place;
  }

  // Of the frames on a cycle the one whose parts hang together least; -1: there is none.
  int32_t FindEnteredAgain() const {
    std::map<int32_t, Followers> followers;              // by frame
    std::vector<int64_t> loose(view_.groups.size(), 0);  // nodes in it, less the edges between them
    for (const ViewNode& node : view_.nodes) {
      for (int32_t g = node.group; g > 0; g = view_.groups[g].parent) ++loose[g];
    }
    for (const ViewEdge& edge : view_.edges) {
      const Place place = PlaceOf(edge);
      followers[place.group][place.from].insert(place.to);
      followers[place.group][place.to];
      for (int32_t g = place.group; g > 0; g = view_.groups[g].parent) --loose[g];
    }
    for (auto& [group, after] : followers) {
      for (std::vector<Item> cycle = CycleOf(after); !cycle.empty(); cycle = CycleOf(after)) {
        int32_t best = -1;
        for (const Item item : cycle) {
          if (item > 0 && (best < 0 || loose[item] > loose[best])) best = static_cast<int32_t>(item);
        }
        if (best > 0) return best;
        after[cycle.back()].erase(cycle.front());  // of folded scopes alone: no frame is in its way
      }
    }
    return -1;
  }

  // Items each of which leads to the next, and the last to the first.
  static std::vector<Item> CycleOf(const Followers& after) {
    const std::set<Item> left = OnCycles(after);
    std::vector<Item> path;
    std::map<Item, size_t> at;
    for (Item item = left.empty() ? 0 : *left.begin(); !left.empty();) {
      const auto [known, fresh] = at.try_emplace(item, path.size());
      if (!fresh) return {path.begin() + static_cast<std::ptrdiff_t>(known->second), path.end()};
      path.push_back(item);
      item = *std::ranges::find_if(after.at(item), [&](Item to) { return left.contains(to); });
    }
    return {};
  }

  // What is left when all that nothing leads to, and all that leads to nothing, is taken away again and again: each of
  // it leads to something that is left.
  static std::set<Item> OnCycles(const Followers& after) {
    Followers before;
    for (const auto& [from, tos] : after) {
      before[from];
      for (const Item to : tos) before[to].insert(from);
    }
    std::map<Item, size_t> numbers_before, numbers_after;
    std::vector<Item> ready;
    std::set<Item> left;
    for (const auto& [item, froms] : before) {
      numbers_before[item] = froms.size();
      numbers_after[item] = after.at(item).size();
      left.insert(item);
      if (numbers_before[item] == 0 || numbers_after[item] == 0) ready.push_back(item);
    }
    while (!ready.empty()) {
      const Item item = ready.back();
      ready.pop_back();
      if (left.erase(item) == 0) continue;
      for (const Item to : after.at(item)) {
        if (--numbers_before[to] == 0) ready.push_back(to);
      }
      for (const Item from : before[item]) {
        if (--numbers_after[from] == 0) ready.push_back(from);
      }
    }
    return left;
  }

  void Dissolve(int32_t group) {
    const int32_t parent = view_.groups[group].parent;
    for (ViewNode& node : view_.nodes) {
      if (node.group == group) node.group = parent;
    }
    for (ViewGroup& other : view_.groups) {
      if (other.parent == group) other.parent = parent;
    }
  }

  View& view_;
  std::vector<size_t> depth_;
};

}  // namespace

void DissolveEnteredAgain(View& view) { Dissolver(view).Run(); }

}  // namespace sbp
