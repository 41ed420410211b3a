#include "page/graph_layout.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace sbp {
namespace {

// The same numbers stand in html/graph_layout.js.
constexpr int32_t kMaxAcross = 8;  // boxes of a layer: more would be a ribbon
constexpr int32_t kBoxesHigh = 3;  // in a square of boxes, for one across
constexpr int32_t kGapX = 28, kTrunkGap = 14;
constexpr int32_t kAboveTracks = 8, kTrackPitch = 7, kBelowTracks = 22, kMarkRoom = 30;
constexpr int32_t kColumnGap = 150, kUnderColumns = 24;
constexpr int32_t kOrderSweeps = 4, kStraightSweeps = 8, kPortPitch = 22;

int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// A box, or a trunk: the place where edges of one box pass a layer.
struct LayerNode {
  int32_t width = 0, height = 0;
  int32_t layer = 0;
  bool mark = false, is_trunk = false;
  int64_t x = 0;
  std::vector<uint32_t> above, below;
  int64_t center() const { return x + width / 2; }
};

class LayerLayout {
 public:
  LayerLayout(std::span<const BoxSize> boxes, std::span<const BoxEdge> edges)
      : edges_(edges), num_boxes_(boxes.size()) {
    for (const BoxSize& box : boxes) nodes_.push_back({.width = box.width, .height = box.height, .mark = box.mark});
  }

  BoxLayout Run() {
    AssignLayers();
    PullDown();
    AddTrunks();
    OrderLayers();
    PlaceAcross();
    PlaceDown();
    return Result();
  }

 private:
  struct Link {  // of neighbouring layers
    uint32_t upper, lower;
    int64_t port;  // where it enters `lower`
  };

  uint32_t Upper(const BoxEdge& edge) const { return place_[edge.from] < place_[edge.to] ? edge.from : edge.to; }
  uint32_t Lower(const BoxEdge& edge) const { return place_[edge.from] < place_[edge.to] ? edge.to : edge.from; }

  // Longest path, in the order in which boxes are ready; in a cycle the first box that is left goes on.
  void AssignLayers() {
    std::vector<std::vector<uint32_t>> readers(num_boxes_), sources(num_boxes_);
    std::vector<uint32_t> pending(num_boxes_, 0);
    for (const BoxEdge& edge : edges_) {
      readers[edge.from].push_back(edge.to);
      sources[edge.to].push_back(edge.from);
      ++pending[edge.to];
    }
    FindApart(readers, sources);
    std::vector<bool> is_ready(num_boxes_, false);
    std::vector<uint32_t> queue;
    for (uint32_t n = 0; n < num_boxes_; ++n) {
      if (pending[n] == 0) is_ready[n] = true, queue.push_back(n);
    }
    place_.assign(num_boxes_, static_cast<uint32_t>(num_boxes_));
    uint32_t first_left = 0;
    for (size_t next = 0; next < num_boxes_; ++next) {
      if (next == queue.size()) {
        while (is_ready[first_left]) ++first_left;
        is_ready[first_left] = true;
        queue.push_back(first_left);
      }
      const uint32_t n = queue[next];
      place_[n] = static_cast<uint32_t>(next);
      TakePlace(n);
      for (const uint32_t source : sources[n]) {  // that is left: of an edge back
        if (place_[source] == num_boxes_) nodes_[source].layer = std::max(nodes_[source].layer, nodes_[n].layer + 1);
      }
      for (const uint32_t reader : readers[n]) {
        if (place_[reader] != num_boxes_) continue;
        nodes_[reader].layer = std::max(nodes_[reader].layer, nodes_[n].layer + 1);
        if (--pending[reader] == 0 && !is_ready[reader]) is_ready[reader] = true, queue.push_back(reader);
      }
    }
    by_place_ = std::move(queue);
  }

  // Boxes that no edge joins to others stand in a block about as wide as high, not in a ribbon: beside others, or
  // alone.
  void FindApart(const std::vector<std::vector<uint32_t>>& readers, const std::vector<std::vector<uint32_t>>& sources) {
    is_apart_.assign(num_boxes_, false);
    int32_t number = 0;
    for (size_t n = 0; n < num_boxes_; ++n) {
      is_apart_[n] = readers[n].empty() && sources[n].empty();
      number += is_apart_[n] ? 1 : 0;
    }
    apart_across_ = edges_.empty() ? 1 : 2;
    while (apart_across_ < kMaxAcross && kBoxesHigh * apart_across_ * apart_across_ < number) ++apart_across_;
  }

  // In its layer, or in the next that has room.
  void TakePlace(uint32_t n) {
    int32_t& layer = nodes_[n].layer;
    const int32_t most = is_apart_[n] ? apart_across_ : kMaxAcross;
    for (;; ++layer) {
      if (layer >= static_cast<int32_t>(across_.size())) across_.resize(layer + 1, 0);
      if (across_[layer] < most) break;
    }
    ++across_[layer];
  }

  // What is read late stands near its reader, where no more edges get longer than shorter.
  void PullDown() {
    std::vector<int32_t> entering(num_boxes_, 0), leaving(num_boxes_, 0);
    std::vector<std::vector<uint32_t>> lower(num_boxes_);
    for (const BoxEdge& edge : edges_) {
      ++leaving[Upper(edge)];
      ++entering[Lower(edge)];
      lower[Upper(edge)].push_back(Lower(edge));
    }
    for (size_t i = num_boxes_; i-- > 0;) {
      const uint32_t n = by_place_[i];
      if (leaving[n] == 0 || entering[n] > leaving[n]) continue;
      int32_t layer = nodes_[lower[n][0]].layer;
      for (const uint32_t reader : lower[n]) layer = std::min(layer, nodes_[reader].layer);
      for (--layer; layer > nodes_[n].layer && across_[layer] >= kMaxAcross;) --layer;
      if (layer <= nodes_[n].layer) continue;
      --across_[nodes_[n].layer];
      ++across_[layer];
      nodes_[n].layer = layer;
    }
  }

  // Edges of one box share the way past other layers.
  void AddTrunks() {
    std::vector<std::vector<uint32_t>> trunks(num_boxes_);  // of a box: at the layers below it
    for (const BoxEdge& edge : edges_) {
      const uint32_t upper = Upper(edge), lower = Lower(edge);
      std::vector<uint32_t>& trunk = trunks[upper];
      const int32_t passed = nodes_[lower].layer - nodes_[upper].layer - 1;
      while (static_cast<int32_t>(trunk.size()) < passed) {
        const auto added = static_cast<uint32_t>(nodes_.size());
        const int32_t layer = nodes_[upper].layer + static_cast<int32_t>(trunk.size()) + 1;
        nodes_.push_back({.layer = layer, .is_trunk = true});
        Join(trunk.empty() ? upper : trunk.back(), added);
        trunk.push_back(added);
      }
      Join(passed == 0 ? upper : trunk[passed - 1], lower);
    }
    trunks_ = std::move(trunks);
  }

  void Join(uint32_t upper, uint32_t lower) {
    nodes_[upper].below.push_back(lower);
    nodes_[lower].above.push_back(upper);
  }

  void OrderLayers() {
    layers_.resize(across_.size());
    for (const uint32_t n : by_place_) layers_[nodes_[n].layer].push_back(n);
    for (size_t n = num_boxes_; n < nodes_.size(); ++n) layers_[nodes_[n].layer].push_back(static_cast<uint32_t>(n));
    order_.assign(nodes_.size(), 0);
    for (const std::vector<uint32_t>& layer : layers_) Number(layer);
    for (int32_t sweep = 0; sweep < kOrderSweeps; ++sweep) {
      for (size_t i = 0; i < layers_.size(); ++i) {
        const bool down = sweep % 2 == 0;
        SortByNeighbours(layers_[down ? i : layers_.size() - 1 - i], down);
      }
    }
  }

  void Number(const std::vector<uint32_t>& layer) {
    for (size_t i = 0; i < layer.size(); ++i) order_[layer[i]] = static_cast<int64_t>(i);
  }

  void SortByNeighbours(std::vector<uint32_t>& layer, bool down) {
    std::vector<std::pair<int64_t, uint32_t>> keys;
    for (const uint32_t n : layer) {
      const std::vector<uint32_t>& neighbours = down ? nodes_[n].above : nodes_[n].below;
      int64_t sum = 0;
      for (const uint32_t other : neighbours) sum += order_[other];
      const int64_t key =
          neighbours.empty() ? order_[n] * 256 : FloorDiv(sum * 256, static_cast<int64_t>(neighbours.size()));
      keys.emplace_back(key, n);
    }
    std::ranges::stable_sort(keys, {}, &std::pair<int64_t, uint32_t>::first);
    for (size_t i = 0; i < keys.size(); ++i) layer[i] = keys[i].second;
    Number(layer);
  }

  // Sweeps bring each node under (above) its neighbours, trunks before all.
  void PlaceAcross() {
    for (const std::vector<uint32_t>& layer : layers_) {
      int64_t x = 0;
      for (const uint32_t n : layer) {
        nodes_[n].x = x;
        x += nodes_[n].width + GapAfter(n);
      }
    }
    for (int32_t sweep = 0; sweep < kStraightSweeps; ++sweep) {
      for (size_t i = 0; i < layers_.size(); ++i) {
        const bool down = sweep % 2 == 0;
        Straighten(layers_[down ? i : layers_.size() - 1 - i], down);
      }
    }
    int64_t left = 0;
    for (size_t n = 0; n < nodes_.size(); ++n) left = n == 0 ? nodes_[n].x : std::min(left, nodes_[n].x);
    for (LayerNode& node : nodes_) node.x -= left;
  }

  int64_t GapAfter(uint32_t n) const { return nodes_[n].is_trunk ? kTrunkGap : kGapX; }

  int64_t WantedX(uint32_t n, bool down) const {
    const LayerNode& node = nodes_[n];
    const std::vector<uint32_t>& neighbours = down ? node.above : node.below;
    int64_t sum = 0, weights = 0;
    for (const uint32_t other : neighbours) {
      const int64_t weight = node.is_trunk && nodes_[other].is_trunk   ? 8
                             : node.is_trunk || nodes_[other].is_trunk ? 1
                                                                       : 2;
      sum += weight * nodes_[other].center();
      weights += weight;
    }
    return weights == 0 ? node.x : FloorDiv(sum, weights) - node.width / 2;
  }

  // The mean of what pushing to the right and pushing to the left make of the wanted places: both keep the gaps.
  void Straighten(const std::vector<uint32_t>& layer, bool down) {
    std::vector<int64_t> wanted, right(layer.size()), left(layer.size());
    for (const uint32_t n : layer) wanted.push_back(WantedX(n, down));
    for (size_t i = 0; i < layer.size(); ++i) {
      right[i] = wanted[i];
      if (i > 0) right[i] = std::max(right[i], right[i - 1] + nodes_[layer[i - 1]].width + GapAfter(layer[i - 1]));
    }
    for (size_t i = layer.size(); i-- > 0;) {
      left[i] = wanted[i];
      if (i + 1 < layer.size()) left[i] = std::min(left[i], left[i + 1] - nodes_[layer[i]].width - GapAfter(layer[i]));
    }
    for (size_t i = 0; i < layer.size(); ++i) nodes_[layer[i]].x = FloorDiv(left[i] + right[i], 2);
  }

  // Between layers there is room for the tracks in which links run across, and above a box for marks.
  void PlaceDown() {
    std::vector<bool> has_mark(layers_.size(), false);
    for (const BoxEdge& edge : edges_) {
      if (edge.mark) has_mark[nodes_[Lower(edge)].layer] = true;
    }
    links_.resize(layers_.size());
    top_.assign(layers_.size(), 0);
    for (const LayerNode& node : nodes_) {
      if (node.mark) has_mark[node.layer] = true;
    }
    int32_t y = !has_mark.empty() && has_mark[0] ? kMarkRoom : 0;
    for (size_t i = 0; i < layers_.size(); ++i) {
      top_[i] = y;
      int32_t height = 0;
      for (const uint32_t n : layers_[i]) height = std::max(height, nodes_[n].height);
      bottom_.push_back(y + height);
      if (i + 1 == layers_.size()) break;
      FindLinks(i);
      const int32_t tracks = AssignTracks(i);
      y = bottom_[i] + kAboveTracks + tracks * kTrackPitch + kBelowTracks + (has_mark[i + 1] ? kMarkRoom : 0);
    }
  }

  // Those that enter a box stand beside each other, in the order in which they come.
  void FindLinks(size_t layer) {
    for (const uint32_t n : layers_[layer + 1]) {
      std::vector<uint32_t> above = nodes_[n].above;
      std::ranges::stable_sort(above, {}, [&](uint32_t upper) { return nodes_[upper].center(); });
      const auto count = static_cast<int64_t>(above.size());
      const int64_t pitch = std::min<int64_t>(kPortPitch, nodes_[n].width / (count + 1));
      for (int64_t k = 0; k < count; ++k) {
        links_[layer].push_back({above[k], n, nodes_[n].center() + FloorDiv((2 * k - (count - 1)) * pitch, 2)});
      }
    }
  }

  // Links of one upper node share a track; the first that is free over its whole run. Nodes by where runs begin.
  int32_t AssignTracks(size_t layer) {
    struct Run {
      uint32_t upper;
      int64_t begin, end;
    };
    std::vector<Run> runs;
    for (const uint32_t upper : layers_[layer]) {
      const int64_t x = nodes_[upper].center();
      runs.push_back({upper, x, x});
    }
    for (const Link& link : links_[layer]) {
      Run& run = runs[order_[link.upper]];
      run.begin = std::min(run.begin, link.port);
      run.end = std::max(run.end, link.port);
    }
    std::erase_if(runs, [](const Run& run) { return run.begin == run.end; });
    std::ranges::stable_sort(runs, {}, &Run::begin);
    std::vector<int64_t> ends;
    track_of_.resize(nodes_.size(), 0);
    for (const Run& run : runs) {
      size_t track = 0;
      while (track < ends.size() && ends[track] >= run.begin) ++track;
      if (track == ends.size()) ends.push_back(0);
      ends[track] = run.end;
      track_of_[run.upper] = static_cast<int32_t>(track);
    }
    return static_cast<int32_t>(ends.size());
  }

  int64_t PortOf(uint32_t upper, uint32_t lower) const {
    for (const Link& link : links_[nodes_[upper].layer]) {
      if (link.upper == upper && link.lower == lower) return link.port;
    }
    return nodes_[lower].center();
  }

  std::vector<Point> Route(const BoxEdge& edge) const {
    const uint32_t upper = Upper(edge), lower = Lower(edge);
    const auto point = [](int64_t x, int64_t y) { return Point{static_cast<int32_t>(x), static_cast<int32_t>(y)}; };
    std::vector<Point> points = {point(nodes_[upper].center(), top_[nodes_[upper].layer] + nodes_[upper].height)};
    uint32_t at = upper;
    for (int32_t layer = nodes_[upper].layer; layer < nodes_[lower].layer; ++layer) {
      const bool is_last = layer + 1 == nodes_[lower].layer;
      const uint32_t next = is_last ? lower : trunks_[upper][layer - nodes_[upper].layer];
      const int64_t x = is_last ? PortOf(at, lower) : nodes_[next].center();
      if (x != nodes_[at].center()) {
        const int64_t y = bottom_[layer] + kAboveTracks + track_of_[at] * kTrackPitch;
        points.push_back(point(nodes_[at].center(), y));
        points.push_back(point(x, y));
      }
      at = next;
    }
    points.push_back(point(points.back().x, top_[nodes_[lower].layer]));
    if (upper != edge.from) std::ranges::reverse(points);
    return points;
  }

  BoxLayout Result() const {
    BoxLayout layout;
    int64_t right = 0;
    for (const LayerNode& node : nodes_) right = std::max(right, node.x + node.width);
    layout.width = static_cast<int32_t>(right);
    layout.height = bottom_.empty() ? 0 : bottom_.back();
    for (size_t n = 0; n < num_boxes_; ++n) {
      layout.at.push_back({static_cast<int32_t>(nodes_[n].x), top_[nodes_[n].layer]});
    }
    for (const BoxEdge& edge : edges_) layout.routes.push_back(Route(edge));
    return layout;
  }

  std::span<const BoxEdge> edges_;
  const size_t num_boxes_;
  std::vector<LayerNode> nodes_;  // the boxes, then trunks
  std::vector<uint32_t> place_, by_place_;
  std::vector<int32_t> across_;  // per layer: boxes
  std::vector<bool> is_apart_;   // per box: joined to no other
  int32_t apart_across_ = 2;     // of these at most in a layer
  std::vector<std::vector<uint32_t>> trunks_, layers_;
  std::vector<int64_t> order_;  // in its layer
  std::vector<std::vector<Link>> links_;
  std::vector<int32_t> top_, bottom_, track_of_;
};

}  // namespace

BoxLayout LayOutBoxes(std::span<const BoxSize> boxes, std::span<const BoxEdge> edges, bool upwards) {
  BoxLayout layout = LayerLayout(boxes, edges).Run();
  if (!upwards) return layout;
  for (size_t n = 0; n < boxes.size(); ++n) layout.at[n].y = layout.height - layout.at[n].y - boxes[n].height;
  for (std::vector<Point>& route : layout.routes) {
    for (Point& point : route) point.y = layout.height - point.y;
  }
  return layout;
}

BoxLayout LayOutColumns(std::span<const BoxSize> boxes, std::span<const BoxEdge> edges) {
  BoxLayout layout;
  for (const BoxSize& box : boxes) layout.height = std::max(layout.height, box.height);
  for (const BoxSize& box : boxes) {
    layout.at.push_back({layout.width, layout.height - box.height});
    layout.width += box.width + kColumnGap;
  }
  layout.width = std::max(0, layout.width - kColumnGap);
  const int32_t bottom = layout.height;
  for (const BoxEdge& edge : edges) {
    const Point from = layout.at[edge.from], to = layout.at[edge.to];
    if (edge.to == edge.from + 1) {  // straight across, where both are
      const int32_t y = std::max(from.y, to.y) + std::min(boxes[edge.from].height, boxes[edge.to].height) / 2;
      layout.routes.push_back({{from.x + boxes[edge.from].width, y}, {to.x, y}});
      continue;
    }
    const int32_t y = bottom + kUnderColumns;
    layout.height = std::max(layout.height, y);
    const int32_t x = from.x + boxes[edge.from].width / 2, end = to.x + boxes[edge.to].width / 2;
    layout.routes.push_back({{x, bottom}, {x, y}, {end, y}, {end, bottom}});
  }
  return layout;
}

}  // namespace sbp
