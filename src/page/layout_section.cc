// What is open at first, and where it stands. html/graph_scene.js does the same to what is opened later.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "boxing/boxing.h"
#include "cost/collective.h"
#include "graph/graph.h"
#include "graph/phases.h"
#include "page/graph_layout.h"
#include "page/sections.h"
#include "plan/plan.h"
#include "render/facts.h"
#include "render/outline_tree.h"

namespace sbp {
namespace {

// The same numbers stand in html/graph_scene.js.
constexpr BoxSize kScreen = {2600, 1500};  // the first view is no larger: then its words can be read
// But where it would be of fewer boxes than these: closed ones say little, and one can magnify.
constexpr BoxSize kLargerScreen = {5200, 3000};
constexpr size_t kFewBoxes = 6;
constexpr BoxSize kOpBox = {176, 44}, kGroupBox = {208, 60};
constexpr int32_t kPadding = 16, kTitle = 34, kMinGroupWidth = 250;
constexpr size_t kMaxColumns = 4;
constexpr size_t kMaxFailed = 40;  // bounds the search for what fits

bool MovesData(const Transition& transition) {
  return std::ranges::any_of(transition.steps, [](const BoxingStep& step) { return !RowOf(step.kind).local; });
}

// Groups as they are drawn: of a repeat one copy is shown, whose items stand in the repeat itself.
class Scene {
 public:
  explicit Scene(const PageFacts& facts)
      : plan_(facts.plan), outline_(facts.outline), phases_(facts.phases), transitions_(plan_) {
    open_.assign(outline_.nodes.size(), false);
    edges_.resize(outline_.nodes.size());
    FindShown();
    FindEdges();
    OpenWhatFits();
  }

  Json Write() {
    Json ids = Json::array(), sizes = Json::array(), places = Json::array(), edges = Json::array(),
         routes = Json::array();
    for (const uint32_t group : groups_) {
      const BoxLayout& layout = layouts_.at(group);
      ids.push_back(group);
      sizes.push_back({layout.width, layout.height});
      places.push_back(Flat(layout.at));
      Json pairs = Json::array(), lines = Json::array();
      for (const auto& [pair, mark] : edges_[group]) pairs.push_back({pair.first, pair.second, mark ? 1 : 0});
      for (const std::vector<Point>& route : layout.routes) lines.push_back(Flat(route));
      edges.push_back(std::move(pairs));
      routes.push_back(std::move(lines));
    }
    return {{"open", std::move(ids)},
            {"size", std::move(sizes)},
            {"at", std::move(places)},
            {"edges", std::move(edges)},
            {"routes", std::move(routes)}};
  }

 private:
  using Pair = std::pair<uint32_t, uint32_t>;

  static Json Flat(const std::vector<Point>& points) {
    Json list = Json::array();
    for (const Point& point : points) {
      list.push_back(point.x);
      list.push_back(point.y);
    }
    return list;
  }

  bool IsRepeat(int32_t node) const { return node >= 0 && outline_.nodes[node].kind == OutlineNode::Kind::kRepeat; }
  // A copy is shown as its repeat.
  uint32_t Shown(uint32_t node) const {
    while (IsRepeat(outline_.nodes[node].parent)) node = static_cast<uint32_t>(outline_.nodes[node].parent);
    return node;
  }

  std::vector<OutlineItem> Content(uint32_t group) const {
    uint32_t node = group;
    while (IsRepeat(static_cast<int32_t>(node))) {
      const OutlineItem& first = outline_.nodes[node].items[0];
      if (first.is_op) return {first};
      node = first.index;
    }
    return outline_.nodes[node].items;
  }

  // The scope whose items a group shows.
  uint32_t Inner(uint32_t group) const {
    uint32_t node = group;
    while (IsRepeat(static_cast<int32_t>(node)) && !outline_.nodes[node].items[0].is_op) {
      node = outline_.nodes[node].items[0].index;
    }
    return node;
  }

  // Whatever opening can show while each repeat shows its first copy; parents before children.
  void FindShown() {
    shown_ = {0};
    for (size_t i = 0; i < shown_.size(); ++i) {
      for (const OutlineItem& item : Content(shown_[i])) {
        if (!item.is_op) shown_.push_back(item.index);
      }
    }
  }

  // What one op became says little at first, and so does an update of a weight.
  bool MayOpen(const OutlineItem& item) const {
    return !item.is_op && !outline_.nodes[Inner(item.index)].stays_closed && PhaseOfItem(item) != Phase::kOptimizer;
  }

  std::vector<double> SecondsOfNodes() const {
    std::vector<double> seconds(outline_.nodes.size(), 0);
    const auto add = [&](uint32_t op, double more) {
      for (int32_t node = outline_.op_node[op]; node >= 0; node = outline_.nodes[node].parent) seconds[node] += more;
    };
    for (uint32_t op = 0; op < plan_.graph.ops.size(); ++op) {
      const DecisionRecord* record = DecisionOf(plan_, op);
      if (record != nullptr) add(op, record->compute_seconds);
    }
    for (const Transition& transition : plan_.transitions) {
      if (!transition.consumers.empty()) add(transition.consumers[0].op.value, transition.seconds);
    }
    return seconds;
  }

  // What takes most of the step first, as there is not room for all; inside of it what takes most there, and so on.
  void OpenWhatFits() {
    const std::vector<double> seconds = SecondsOfNodes();
    std::set<std::tuple<double, uint32_t, uint32_t>> left;  // less is better: -seconds, -ops, group
    const auto offer = [&](uint32_t group) {
      left.emplace(-seconds[group], UINT32_MAX - outline_.nodes[group].num_ops, group);
    };
    offer(0);
    size_t boxes = 1;
    for (size_t failed = 0; !left.empty() && failed < kMaxFailed;) {
      const uint32_t group = std::get<2>(*left.begin());
      left.erase(left.begin());
      open_[group] = true;
      LayOutUpwards(group);
      const BoxLayout& whole = layouts_.at(0);
      const BoxSize& room = boxes < kFewBoxes ? kLargerScreen : kScreen;
      if (group != 0 && (whole.width > room.width || whole.height > room.height)) {
        open_[group] = false;
        LayOutUpwards(Above(group));
        ++failed;
        continue;
      }
      groups_.push_back(group);
      boxes += Content(group).size() - 1;
      for (const OutlineItem& item : Content(group)) {
        if (MayOpen(item)) offer(item.index);
      }
    }
  }

  uint32_t Above(uint32_t group) const {
    return group == 0 ? 0 : Shown(static_cast<uint32_t>(outline_.nodes[group].parent));
  }

  void LayOutUpwards(uint32_t group) {
    for (LayOut(group); group != 0; LayOut(group)) group = Above(group);
  }

  // Each use of a result is an edge of the innermost group that holds both ops, between its items.
  void FindEdges() {
    place_.resize(outline_.nodes.size(), -1);
    op_place_.resize(plan_.graph.ops.size(), -1);
    for (const uint32_t group : shown_) {
      const std::vector<OutlineItem> items = Content(group);
      for (size_t i = 0; i < items.size(); ++i) {
        (items[i].is_op ? op_place_ : place_)[items[i].index] = static_cast<int32_t>(i);
      }
    }
    marked_.assign(plan_.graph.ops.size(), false);
    const Graph& graph = plan_.graph;
    const std::vector<OpId> producer = ProducersOf(graph);
    for (uint32_t op = 0; op < graph.ops.size(); ++op) {
      const std::vector<TensorId> operands = graph.OperandsOf(graph.ops[op]);
      for (size_t k = 0; k < operands.size(); ++k) {
        if (!operands[k].valid()) continue;
        const int32_t transition = transitions_.Feeding(op, k);
        const bool mark = transition >= 0 && MovesData(plan_.transitions[transition]);
        const OpId from = producer[operands[k].index()];
        if (from.valid()) {
          AddEdge(from.value, op, mark);
        } else if (mark) {
          marked_[op] = true;
        }
      }
    }
  }

  static std::vector<OpId> ProducersOf(const Graph& graph) {
    std::vector<OpId> producer(graph.tensors.size());
    for (uint32_t op = 0; op < graph.ops.size(); ++op) {
      for (const TensorId tensor : graph.ops[op].outputs) {
        if (tensor.valid()) producer[tensor.index()] = OpId(op);
      }
    }
    return producer;
  }

  struct Climber {
    uint32_t group;
    int32_t place;  // of the item of `group` that holds the op; -1: it is not shown
  };
  Climber Start(uint32_t op) const { return {Shown(outline_.op_node[op]), op_place_[op]}; }
  void Climb(Climber& at) const {
    at.place = place_[at.group];
    at.group = Shown(static_cast<uint32_t>(outline_.nodes[at.group].parent));
  }

  void AddEdge(uint32_t from, uint32_t to, bool mark) {
    Climber a = Start(from), b = Start(to);
    while (a.group != b.group) {
      Climb(outline_.nodes[a.group].depth >= outline_.nodes[b.group].depth ? a : b);
    }
    if (a.place < 0 || b.place < 0 || a.place == b.place) return;
    bool& marked = edges_[a.group][{static_cast<uint32_t>(a.place), static_cast<uint32_t>(b.place)}];
    marked = marked || mark;
  }

  BoxSize SizeOf(const OutlineItem& item) const {
    if (item.is_op) return {kOpBox.width, kOpBox.height, marked_[item.index]};
    if (!open_[item.index]) return kGroupBox;
    const BoxLayout& layout = layouts_.at(item.index);
    return {std::max(layout.width, kMinGroupWidth) + 2 * kPadding, layout.height + kTitle + kPadding};
  }

  Phase PhaseOfItem(OutlineItem item) const {
    while (!item.is_op) item = outline_.nodes[item.index].items[0];
    return phases_[item.index];
  }

  bool InColumns(const std::vector<OutlineItem>& items) const {
    return items.size() <= kMaxColumns && std::ranges::none_of(items, &OutlineItem::is_op) &&
           std::ranges::any_of(items, [&](const OutlineItem& item) { return PhaseOfItem(item) != Phase::kForward; });
  }

  void LayOut(uint32_t group) {
    const std::vector<OutlineItem> items = Content(group);
    std::vector<BoxSize> boxes;
    for (const OutlineItem& item : items) boxes.push_back(SizeOf(item));
    std::vector<BoxEdge> edges;
    for (const auto& [pair, mark] : edges_[group]) edges.push_back({pair.first, pair.second, mark});
    if (group == 0 && InColumns(items)) {
      layouts_[group] = LayOutColumns(boxes, edges);
    } else {
      const bool upwards = !items.empty() && PhaseOfItem(items[0]) == Phase::kBackward;
      layouts_[group] = LayOutBoxes(boxes, edges, upwards);
    }
  }

  const Plan& plan_;
  const Outline& outline_;
  const std::vector<Phase>& phases_;  // per op
  const TransitionIndex transitions_;
  std::vector<bool> open_;
  std::vector<uint32_t> shown_;              // that may be open
  std::vector<uint32_t> groups_;             // that are open; parents before children
  std::vector<int32_t> place_, op_place_;    // of nodes and ops in the group that shows them; -1: none does
  std::vector<bool> marked_;                 // per op: collectives of operands that no op makes
  std::vector<std::map<Pair, bool>> edges_;  // per group: between places, and whether one has a collective
  std::map<uint32_t, BoxLayout> layouts_;
};

}  // namespace

Json LayoutSection(const PageFacts& facts) { return Scene(facts).Write(); }

}  // namespace sbp
