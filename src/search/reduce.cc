#include "search/reduce.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <numeric>
#include <utility>

#include "base/status.h"
#include "base/text.h"
#include "search/kernels.h"
#include "search/matrices.h"
#include "search/range_minimum.h"
#include "search/timeline.h"

namespace sbp {

// The working state: nodes and edges die, indices stay.
class Reducer {
 public:
  Reducer(const CostNetwork& network, const Reduction::Options& options)
      : network_(network),
        stop_(options.stop),
        kept_node_(options.kept_node),
        memory_(options.memory != nullptr ? *options.memory : own_memory_) {
    result_.core_.shared_matrices = memory_.matrices_;
  }

  Result<Reduction> Run() {
    Load();
    SBP_RETURN_IF_ERROR(LoadTimeline());
    for (int32_t node = 0; node < Size(); ++node) DropForbidden(node);
    // Ties first, then time: memory that only ties decide shows which steps matter.
    SBP_RETURN_IF_ERROR(Settle());
    bool changed = true;
    while (changed && !Stopped(0)) {
      changed = false;
      if (std::exchange(holds_changed_, false)) {
        SBP_RETURN_IF_ERROR(Compress());
        changed = DropOversized();
        SBP_RETURN_IF_ERROR(Settle());
      }
      changed |= DropDominated();
      SBP_RETURN_IF_ERROR(Settle());
      changed |= Eliminate();
      SBP_RETURN_IF_ERROR(Settle());
    }
    if (holds_changed_) SBP_RETURN_IF_ERROR(Compress());
    Pack();
    return std::move(result_);
  }

 private:
  using Node = Core::Node;
  using Edge = Core::Edge;

  int32_t Size() const { return static_cast<int32_t>(nodes_.size()); }
  Matrices& matrices() { return *memory_.matrices_; }
  int32_t Candidates(int32_t node) const { return static_cast<int32_t>(nodes_[node].costs.size()); }

  void Load();
  TableLines Lines(const CostNetwork::Lines& lines) const;
  Status LoadTimeline();
  Status Compress();
  Status Settle();
  void Pack();

  void DropForbidden(int32_t node);
  // `instead` names a candidate (as numbered before) for each one dropped, or is empty.
  void Keep(int32_t node, std::vector<int32_t> kept, std::vector<int32_t> instead = {});
  void Inspect(int32_t edge);
  void Merge(int32_t node, int32_t of, MapId map);
  void Unhook(int32_t edge);
  // In the order in which they came.
  const std::vector<int32_t>& EdgesOf(int32_t node);
  void Attach(int32_t a, int32_t b, MatrixId matrix);
  bool DropOversized();
  bool DropDominated();
  bool DropDominated(int32_t node);
  bool Eliminate();
  bool EliminateNode(int32_t node);
  void TakeLeast(int32_t node);
  // Asked at every node of a loop; asks itself at some.
  bool Stopped(int32_t node) {
    constexpr int32_t kNodes = 16;
    if (!stopped_ && stop_ && node % kNodes == 0) stopped_ = stop_();
    return stopped_;
  }
  int32_t Other(int32_t edge, int32_t node) const {
    return edges_[edge].nodes[0] == node ? edges_[edge].nodes[1] : edges_[edge].nodes[0];
  }
  // The matrix of an edge with the candidates of `node` as rows.
  MatrixId From(int32_t edge, int32_t node) {
    return edges_[edge].nodes[0] == node ? edges_[edge].matrix : matrices().Transpose(edges_[edge].matrix);
  }
  // The node's candidates, costs or edges.
  void Changed(int32_t node) { unchecked_[node] = untried_[node] = 1; }
  void Touch(int32_t edge) {
    if (!queued_[edge]) queue_.push_back(edge);
    queued_[edge] = 1;
  }

  const CostNetwork& network_;
  const std::function<bool()>& stop_;
  bool stopped_ = false;
  int32_t kept_node_;  // or what it was merged into; -1: none
  ReductionMemory own_memory_;
  ReductionMemory& memory_;
  Reduction result_;
  std::vector<Node> nodes_;
  std::vector<char> alive_, dead_edges_;  // per node; whether some of its edges are unhooked but still listed
  std::vector<Edge> edges_;
  std::vector<char> edge_alive_, queued_;
  std::deque<int32_t> queue_;
  std::vector<double> limits_;
  std::vector<int64_t> times_;  // of a step
  // Rounds look only at what has changed since the round before, so that a graph whose reductions follow from one
  // another over its whole length takes no time for what does not change.
  std::vector<char> unchecked_;  // nodes to try for domination again
  std::vector<char> untried_;    // nodes to try for elimination again
  bool holds_changed_ = true;    // candidates of a node that holds memory
  LineScratch line_scratch_;
  int32_t empty_ = -1;  // a node without a candidate
};

TableLines Reducer::Lines(const CostNetwork::Lines& lines) const {
  TableLines result;
  const auto read = [&](int32_t map, std::vector<int32_t>& to) {
    if (map >= 0) to.assign(network_.maps[map].begin(), network_.maps[map].end());
  };
  read(lines.first, result.first);
  read(lines.second, result.second);
  return result;
}

void Reducer::Load() {
  Core& core = result_.core_;
  double sum = 0;
  const auto largest = [&](int32_t row) {
    double most = 0;
    for (const int64_t cost : network_.costs[row]) {
      if (cost < kInfiniteCost) most = std::max(most, std::fabs(static_cast<double>(cost)));
    }
    return most;
  };
  std::vector<double> row_largest(network_.costs.size());
  for (int32_t row = 0; row < network_.costs.size(); ++row) row_largest[row] = largest(row);
  for (const CostNetwork::Node& node : network_.nodes) sum += row_largest[node.costs];
  for (const CostNetwork::Edge& edge : network_.edges) sum += row_largest[edge.costs];
  constexpr int kBits = 51;
  constexpr int kMostFractionBits = 20;
  core.scale = std::ldexp(1.0, std::min(kMostFractionBits, kBits - (sum > 0 ? std::ilogb(sum) + 1 : 0)));
  const auto scaled = [&](int64_t cost) {
    return cost >= kInfiniteCost ? kForbidden : std::floor(static_cast<double>(cost) * core.scale);
  };
  result_.network_size_ = network_.nodes.size();
  nodes_.resize(network_.nodes.size());
  alive_.assign(nodes_.size(), 1);
  dead_edges_.assign(nodes_.size(), 0);
  unchecked_.assign(nodes_.size(), 1);
  untried_.assign(nodes_.size(), 1);
  for (int32_t i = 0; i < Size(); ++i) {
    for (const int64_t cost : network_.costs[network_.nodes[i].costs]) nodes_[i].costs.push_back(scaled(cost));
  }
  std::map<std::array<int32_t, 3>, MatrixId> loaded;  // by row, its width and its form
  for (const CostNetwork::Edge& edge : network_.edges) {
    const int32_t rows = network_.candidates(edge.nodes[0]);
    const int32_t columns = network_.candidates(edge.nodes[1]);
    const auto [known, inserted] = loaded.try_emplace({edge.costs, columns, edge.form}, 0);
    if (inserted) {
      std::vector<double> entries;
      for (const int64_t cost : network_.costs[edge.costs]) entries.push_back(scaled(cost));
      Matrix matrix = Matrix::Plain(rows, columns, std::move(entries));
      if (edge.form >= 0) {
        const CostNetwork::Form& form = network_.forms[edge.form];
        matrix.table_rows = form.rows;
        matrix.table_columns = form.columns;
        matrix.row_lines = Lines(form.lines[0]);
        matrix.column_lines = Lines(form.lines[1]);
      }
      known->second = matrices().Add(std::move(matrix));
    }
    Attach(edge.nodes[0], edge.nodes[1], known->second);
  }
}

Status Reducer::LoadTimeline() {
  if (!network_.usage_limit) return OkStatus();
  std::vector<int64_t> times;
  for (const CostNetwork::Node& node : network_.nodes) {
    if (node.usages >= 0 && node.begin != node.end) times.insert(times.end(), {node.begin, node.end});
  }
  for (const CostNetwork::Hold& hold : network_.further) times.insert(times.end(), {hold.begin, hold.end});
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  const auto step = [&](int64_t time) {
    return static_cast<int32_t>(std::lower_bound(times.begin(), times.end(), time) - times.begin());
  };
  const auto hold = [&](int32_t node, int32_t row, int64_t begin, int64_t end) {
    const std::span<const int64_t> usages = network_.usages[row];
    nodes_[node].holds.push_back({step(begin), step(end), {usages.begin(), usages.end()}});
  };
  for (int32_t i = 0; i < Size(); ++i) {
    const CostNetwork::Node& node = network_.nodes[i];
    if (node.usages >= 0 && node.begin != node.end) hold(i, node.usages, node.begin, node.end);
  }
  for (const CostNetwork::Hold& more : network_.further) hold(more.node, more.usages, more.begin, more.end);
  if (times.empty()) return OkStatus();
  limits_.assign(times.size() - 1, static_cast<double>(*network_.usage_limit));
  times_.assign(times.begin(), times.end() - 1);
  return OkStatus();
}

Status Reducer::Compress() {
  std::vector<int32_t> old_step, holding;
  for (int32_t node = 0; node < Size(); ++node) {
    if (!nodes_[node].holds.empty()) holding.push_back(node);
  }
  if (const auto step = CompressTimeline(nodes_, limits_, old_step)) {
    return NoPlan(StrCat("every choice exceeds the usage limit at time ", times_[*step]));
  }
  for (size_t step = 0; step < old_step.size(); ++step) times_[step] = times_[old_step[step]];
  times_.resize(old_step.size());
  for (const int32_t node : holding) {
    if (nodes_[node].holds.empty()) untried_[node] = 1;
  }
  return OkStatus();
}

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

void Reducer::Pack() {
  Core& core = result_.core_;
  std::vector<int32_t> new_node(nodes_.size(), -1);
  std::vector<int32_t> in_order(nodes_.size());
  std::iota(in_order.begin(), in_order.end(), 0);
  if (!network_.places.empty()) {
    std::stable_sort(in_order.begin(), in_order.end(),
                     [&](int32_t a, int32_t b) { return network_.places[a] < network_.places[b]; });
  }
  for (const int32_t node : in_order) {
    if (!alive_[node]) continue;
    new_node[node] = core.size();
    result_.network_node_.push_back(node);
    core.nodes.push_back(std::move(nodes_[node]));
    core.nodes.back().edges.clear();  // MakeLinks fills them
  }
  for (size_t i = 0; i < edges_.size(); ++i) {
    if (!edge_alive_[i]) continue;
    const Edge edge{{new_node[edges_[i].nodes[0]], new_node[edges_[i].nodes[1]]}, edges_[i].matrix};
    core.edges.push_back(edge);
  }
  MakeLinks(core);
  core.limits = std::move(limits_);
  core.times = std::move(times_);
}

Result<Reduction> Reduction::Of(const CostNetwork& network, const Options& options) {
  return Reducer(network, options).Run();
}

}  // namespace sbp
