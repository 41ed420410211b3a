// Where the boxes of one group stand, and how the edges between them run: a few linear passes, as model graphs are long
// chains with skips. Layers by longest path, trunks for edges that pass layers, barycentre and straightening sweeps,
// tracks for horizontal runs. html/graph_layout.js computes the same of what is opened in a page: integers only, and
// divisions round down in both.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sbp {

// `mark`: a collective is to be drawn where its own operands enter it.
struct BoxSize {
  int32_t width = 0, height = 0;
  bool mark = false;
};

// Of boxes by their place in the list; at most one per pair, and none from a box to itself. `mark`: a collective is to
// be drawn on it.
struct BoxEdge {
  uint32_t from = 0, to = 0;
  bool mark = false;
};

struct Point {
  int32_t x = 0, y = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

struct BoxLayout {
  int32_t width = 0, height = 0;           // of all
  std::vector<Point> at;                   // per box: its upper left corner; nothing is left of or above (0, 0)
  std::vector<std::vector<Point>> routes;  // per edge: from the border of `from` to that of `to`, runs along the axes
};

// Sources stand above what reads them; with `upwards` below. Boxes that depend on each other in a cycle are layered as
// if the edge back were not there. Edges sorted by (from, to). O(boxes x layers + edges).
BoxLayout LayOutBoxes(std::span<const BoxSize> boxes, std::span<const BoxEdge> edges, bool upwards);

// Columns side by side, the lower borders of their boxes on one line: the phases of a training step. Edges run between
// columns only.
BoxLayout LayOutColumns(std::span<const BoxSize> boxes, std::span<const BoxEdge> edges);

}  // namespace sbp
