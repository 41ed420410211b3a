#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "search/core.h"
#include "search/domination.h"
#include "search/kernels.h"
#include "search/matrices.h"
#include "search/range_minimum.h"
#include "search/reduce.h"
#include "search/reducer.h"

namespace sbp {

void Reducer::DropForbidden(int32_t node) {
  std::vector<int32_t> kept;
  for (int32_t a = 0; a < Candidates(node); ++a) {
    if (!std::isinf(nodes_[node].costs[a])) kept.push_back(a);
  }
  Keep(node, std::move(kept));
}

void Reducer::Keep(int32_t node, std::vector<int32_t> kept, std::vector<int32_t> instead) {
  if (static_cast<int32_t>(kept.size()) == Candidates(node)) return;
  if (kept.empty()) {
    empty_ = node;
    return;
  }
  std::vector<int32_t> new_number(Candidates(node), -1);
  for (size_t i = 0; i < kept.size(); ++i) new_number[kept[i]] = static_cast<int32_t>(i);
  for (size_t a = 0; a < instead.size(); ++a) new_number[a] = new_number[instead[a]];
  const auto select = [&](std::vector<double>& numbers) {
    for (size_t i = 0; i < kept.size(); ++i) numbers[i] = numbers[kept[i]];
    numbers.resize(kept.size());
  };
  select(nodes_[node].costs);
  for (Core::Hold& hold : nodes_[node].holds) select(hold.usages);
  const MapId map = matrices().AddMap(kept);
  for (const int32_t edge : EdgesOf(node)) {
    const bool first = edges_[edge].nodes[0] == node;
    edges_[edge].matrix = matrices().Select(edges_[edge].matrix, first ? map : kIdentity, first ? kIdentity : map);
    Touch(edge);
    Changed(Other(edge, node));
  }
  Changed(node);
  holds_changed_ |= !nodes_[node].holds.empty();
  result_.steps_.push_back(Reduction::Kept{node, map, matrices().AddMap(new_number)});
}

void Reducer::Unhook(int32_t edge) {
  edge_alive_[edge] = 0;
  for (const int32_t node : edges_[edge].nodes) {
    dead_edges_[node] = 1;
    Changed(node);
  }
}

const std::vector<int32_t>& Reducer::EdgesOf(int32_t node) {
  std::vector<int32_t>& edges = nodes_[node].edges;
  if (dead_edges_[node]) {  // removed together: one by one a node of many edges would take the square of their number
    std::erase_if(edges, [&](int32_t edge) { return edge_alive_[edge] == 0; });
    dead_edges_[node] = 0;
  }
  return edges;
}

// Adds costs between two nodes, to the edge that is there or as a new one.
void Reducer::Attach(int32_t a, int32_t b, MatrixId matrix) {
  const int32_t fewer = EdgesOf(a).size() <= EdgesOf(b).size() ? a : b;
  for (const int32_t edge : EdgesOf(fewer)) {
    if (Other(edge, fewer) != (fewer == a ? b : a)) continue;
    const MatrixId aligned = edges_[edge].nodes[0] == a ? matrix : matrices().Transpose(matrix);
    edges_[edge].matrix = matrices().Sum(edges_[edge].matrix, aligned);
    Touch(edge);
    untried_[a] = untried_[b] = 1;
    return;
  }
  const auto edge = static_cast<int32_t>(edges_.size());
  edges_.push_back({{a, b}, matrix});
  edge_alive_.push_back(1);
  queued_.push_back(0);
  nodes_[a].edges.push_back(edge);
  nodes_[b].edges.push_back(edge);
  Touch(edge);
  untried_[a] = untried_[b] = 1;
}

// `node` follows from `of`: its costs, memory and edges become those of `of`.
void Reducer::Merge(int32_t node, int32_t of, MapId map) {
  const std::span<const int32_t> candidate = matrices().Map(map);
  const std::vector<int32_t> edges = EdgesOf(node);
  for (const int32_t edge : edges) {
    const int32_t other = Other(edge, node);
    const MatrixId matrix = matrices().Select(From(edge, node), map, kIdentity);
    Unhook(edge);
    if (other != of) {
      Attach(of, other, matrix);
      Changed(other);
      continue;
    }
    const Matrix& tied = matrices()[matrix];
    for (int32_t a = 0; a < Candidates(of); ++a) nodes_[of].costs[a] += tied.at(a, a);
  }
  for (int32_t a = 0; a < Candidates(of); ++a) nodes_[of].costs[a] += nodes_[node].costs[candidate[a]];
  for (const Core::Hold& hold : nodes_[node].holds) {
    Core::Hold moved{hold.begin, hold.end, {}};
    for (const int32_t a : candidate) moved.usages.push_back(hold.usages[a]);
    nodes_[of].holds.push_back(std::move(moved));
  }
  const int32_t count = Candidates(node);
  if (node == kept_node_) kept_node_ = of;
  holds_changed_ |= !nodes_[node].holds.empty();
  alive_[node] = 0;
  nodes_[node] = {};
  Changed(of);
  result_.steps_.push_back(Reduction::Follows{node, of, map, count});
}

void Reducer::Inspect(int32_t edge) {
  const auto [a, b] = std::pair(edges_[edge].nodes[0], edges_[edge].nodes[1]);
  const MatrixFacts& facts = matrices().Facts(edges_[edge].matrix);
  const auto list = [&](MapId map) {
    const std::span<const int32_t> kept = matrices().Map(map);
    return std::vector<int32_t>(kept.begin(), kept.end());
  };
  if (facts.live_rows != kIdentity) return Keep(a, list(facts.live_rows));
  if (facts.live_columns != kIdentity) return Keep(b, list(facts.live_columns));
  if (facts.separable) {
    for (int32_t i = 0; i < Candidates(a); ++i) nodes_[a].costs[i] += facts.row_part[i];
    for (int32_t i = 0; i < Candidates(b); ++i) nodes_[b].costs[i] += facts.column_part[i];
    return Unhook(edge);
  }
  if (facts.column_of_row != kIdentity) return Merge(b, a, facts.column_of_row);
  if (facts.row_of_column != kIdentity) return Merge(a, b, facts.row_of_column);
}

Status Reducer::Settle() {
  while (!queue_.empty() && empty_ < 0) {
    const int32_t edge = queue_.front();
    queue_.pop_front();
    queued_[edge] = 0;
    if (edge_alive_[edge]) Inspect(edge);
  }
  if (empty_ >= 0) return NoPlan(StrCat("node ", empty_, " has no candidate that its neighbours can go with"));
  return OkStatus();
}

bool Reducer::DropDominated(int32_t node) {
  TakeLeast(node);
  if (node == kept_node_) return false;
  std::vector<MatrixId> edges;
  for (const int32_t edge : EdgesOf(node)) edges.push_back(From(edge, node));
  const Domination::Answer* answer = memory_.domination_.Of(nodes_[node], edges);
  if (!answer || answer->kept.size() == nodes_[node].costs.size()) return false;
  Keep(node, answer->kept, answer->instead);
  return true;
}

// Candidates that alone exceed what a step leaves.
bool Reducer::DropOversized() {
  const RangeMinimum least(limits_);
  bool changed = false;
  for (int32_t node = 0; node < Size(); ++node) {
    if (nodes_[node].holds.empty()) continue;
    std::vector<int32_t> kept;
    for (int32_t a = 0; a < Candidates(node); ++a) {
      const auto fits = [&](const Core::Hold& hold) { return hold.usages[a] <= least.Of(hold.begin, hold.end); };
      if (std::all_of(nodes_[node].holds.begin(), nodes_[node].holds.end(), fits)) kept.push_back(a);
    }
    changed |= static_cast<int32_t>(kept.size()) < Candidates(node);
    Keep(node, std::move(kept));
  }
  return changed;
}

bool Reducer::DropDominated() {
  bool changed = false;
  for (int32_t node = 0; node < Size(); ++node) {
    if (!alive_[node] || !std::exchange(unchecked_[node], 0)) continue;
    if (Stopped(node)) break;
    changed |= DropDominated(node);
  }
  return changed;
}

// What all candidates cost is no matter of choice. Without it, what is left of equal layers is equal.
void Reducer::TakeLeast(int32_t node) {
  std::vector<double>& costs = nodes_[node].costs;
  const double least = *std::min_element(costs.begin(), costs.end());
  if (least == 0 || least == kForbidden) return;
  for (double& cost : costs) cost -= least;
  result_.core_.constant += least;
}

bool Reducer::EliminateNode(int32_t node) {
  const std::vector<int32_t> edges = EdgesOf(node);
  if (node == kept_node_ || !nodes_[node].holds.empty() || edges.size() > 2) return false;
  const int32_t u = edges.empty() ? -1 : Other(edges[0], node);
  const int32_t w = edges.size() < 2 ? -1 : Other(edges[1], node);
  TakeLeast(node);
  const std::vector<double>& costs = nodes_[node].costs;
  Reduction::Best step{node, {u, w}, costs, {-1, -1}, {}, -1, 0};
  for (size_t i = 0; i < edges.size(); ++i) step.edges[i] = From(edges[i], node);
  if (w >= 0) {
    const Matrix& first = matrices()[step.edges[0]];
    const Matrix& second = matrices()[step.edges[1]];
    constexpr int64_t kSmall = 2500, kMostWork = int64_t{1} << 24;
    const int64_t made = int64_t{first.table_columns} * second.table_columns;
    const int64_t gone =
        int64_t{first.table_rows} * first.table_columns + int64_t{second.table_rows} * second.table_columns;
    if (made > std::max(kSmall, gone)) return false;
    if (made * static_cast<int64_t>(costs.size()) > kMostWork) return false;
    step.total = matrices().MinSum(costs, step.edges[0], step.edges[1]);
    const std::vector<double>& table = matrices()[step.total].table;
    step.offset = *std::min_element(table.begin(), table.end());
    if (step.offset == kForbidden) step.offset = 0;
    step.total = matrices().Less(step.total, step.offset);
    result_.core_.constant += step.offset;
  } else {
    std::vector<double> gain(costs);
    for (double& cost : gain) cost = -cost;
    step.least.assign(u < 0 ? 1 : Candidates(u), 0);
    if (u < 0) {
      step.least[0] = *std::min_element(costs.begin(), costs.end());
    } else {
      MinOverRows(matrices()[step.edges[0]], gain.data(), step.least.data(), line_scratch_);
    }
  }
  for (const int32_t edge : edges) Unhook(edge);
  if (w >= 0) {
    Attach(u, w, step.total);
  } else if (u >= 0) {
    for (int32_t i = 0; i < Candidates(u); ++i) nodes_[u].costs[i] += step.least[i];
  } else {
    result_.core_.constant += step.least[0];
  }
  result_.steps_.push_back(std::move(step));
  if (w < 0 && u >= 0) DropForbidden(u);
  alive_[node] = 0;
  nodes_[node] = {};
  return true;
}

bool Reducer::Eliminate() {
  bool changed = false;
  for (int32_t node = 0; node < Size() && !Stopped(node); ++node) {
    if (!alive_[node] || !std::exchange(untried_[node], 0)) continue;
    if (EliminateNode(node)) changed = true;
    if (!Settle().ok()) return changed;
  }
  return changed;
}

}  // namespace sbp
