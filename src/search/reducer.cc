#include "search/reducer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "search/core.h"
#include "search/cost_network.h"
#include "search/matrices.h"
#include "search/reduce.h"
#include "search/timeline.h"

namespace sbp {

Result<Reduction> Reducer::Run() {
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
