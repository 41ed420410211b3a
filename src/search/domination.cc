#include "search/domination.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "search/kernels.h"

namespace sbp {
namespace {

constexpr double kMostWork = 5e7;         // entries looked at for a matrix
constexpr int32_t kMostCandidates = 100;  // compared in pairs where rows are the lesser of two lines

}  // namespace

const double* Domination::Edge::row(int32_t line) const {
  if (by_line()) return matrix->table_row(line);
  return &written_out[static_cast<size_t>(line) * matrix->table_columns];
}

double Domination::Edge::Least(int32_t better, int32_t worse) const {
  better = line(better), worse = line(worse);
  const double *a = row(better), *b = row(worse);
  double least = -kForbidden;
  for (const int32_t column : {cheapest[worse], dearest[better]}) {
    if (b[column] != kForbidden) least = std::max(least, a[column] - b[column]);
  }
  return least;
}

double Domination::Edge::Most(int32_t better, int32_t worse) {
  better = line(better), worse = line(worse);
  const auto most = [&] { return MostAbove(row(better), row(worse), matrix->table_columns); };
  if (!by_line()) return most();
  double& told = known[static_cast<size_t>(better) * matrix->table_rows + worse];
  if (std::isnan(told)) told = most();
  return told;
}

// Lesser of two columns: the lesser of what is cheaper by at most d each is cheaper by at most d, so the columns
// themselves say enough.
Domination::Edge Domination::MakeEdge(const Matrix& matrix) {
  Edge edge;
  edge.matrix = &matrix;
  int32_t lines = matrix.table_rows;
  if (matrix.row_lines.second.empty()) {
    edge.known.assign(static_cast<size_t>(lines) * lines, std::numeric_limits<double>::quiet_NaN());
  } else {
    lines = matrix.rows;
    edge.written_out.reserve(static_cast<size_t>(lines) * matrix.table_columns);
    for (int32_t i = 0; i < lines; ++i) {
      const double* first = matrix.table_row(matrix.row_lines.first[i]);
      const double* second = matrix.table_row(matrix.row_lines.second[i]);
      for (int32_t c = 0; c < matrix.table_columns; ++c) edge.written_out.push_back(std::min(first[c], second[c]));
    }
  }
  for (int32_t i = 0; i < lines; ++i) {
    const double* row = edge.row(i);
    edge.cheapest.push_back(static_cast<int32_t>(std::min_element(row, row + matrix.table_columns) - row));
    edge.dearest.push_back(static_cast<int32_t>(std::max_element(row, row + matrix.table_columns) - row));
  }
  return edge;
}

Domination::Answer Domination::Find(const Core::Node& node, std::span<const MatrixId> ids) {
  const auto count = static_cast<int32_t>(node.costs.size());
  std::vector<Edge*> edges;
  for (const MatrixId id : ids) {
    auto known = edges_.find(id);
    if (known == edges_.end()) known = edges_.emplace(id, MakeEdge(matrices_[id])).first;
    edges.push_back(&known->second);
  }
  std::stable_partition(edges.begin(), edges.end(), [](const Edge* edge) { return edge->by_line(); });
  // What no more than d dearer everywhere is no more than d dearer at its own best, nor at its own worst.
  std::vector<double> at_best = node.costs, at_worst = node.costs;
  for (const Edge* edge : edges) {
    for (int32_t c = 0; c < count; ++c) {
      const int32_t line = edge->line(c);
      at_best[c] += edge->row(line)[edge->cheapest[line]];
      at_worst[c] += edge->row(line)[edge->dearest[line]];
    }
  }
  const auto beats = [&](int32_t better, int32_t worse) {
    if (at_best[better] > at_best[worse] || at_worst[better] > at_worst[worse]) return false;
    for (const Core::Hold& hold : node.holds) {
      if (hold.usages[better] > hold.usages[worse]) return false;
    }
    const double dearer = node.costs[better] - node.costs[worse];
    double least = dearer;
    for (const Edge* edge : edges) least += edge->Least(better, worse);
    if (!(least <= 0)) return false;
    double most = dearer;
    for (Edge* edge : edges) {
      most += edge->Most(better, worse);
      if (most == kForbidden) return false;
    }
    return most <= 0;
  };
  Answer answer;
  std::vector<char> dropped(count, 0);
  answer.instead.resize(count);
  std::iota(answer.instead.begin(), answer.instead.end(), 0);
  for (int32_t worse = 0; worse < count; ++worse) {
    for (int32_t better = 0; better < count && !dropped[worse]; ++better) {
      dropped[worse] = better != worse && !dropped[better] && beats(better, worse);
      if (dropped[worse]) answer.instead[worse] = better;
    }
  }
  // Who beat another may have been beaten later.
  for (int32_t& other : answer.instead) {
    while (dropped[other]) other = answer.instead[other];
  }
  for (int32_t a = 0; a < count; ++a) {
    if (!dropped[a]) answer.kept.push_back(a);
  }
  return answer;
}

const Domination::Answer* Domination::Of(const Core::Node& node, std::span<const MatrixId> edges) {
  for (const MatrixId edge : edges) {
    const Matrix& matrix = matrices_[edge];
    const double pairs = static_cast<double>(matrix.table_rows) * matrix.table_rows;
    if (pairs * matrix.table_columns > kMostWork) return nullptr;
    if (!matrix.row_lines.plain() && matrix.rows > kMostCandidates) return nullptr;
  }
  std::vector<int32_t> key(edges.begin(), edges.end());
  std::sort(key.begin(), key.end());
  key.push_back(rows_.Add(node.costs));
  for (const Core::Hold& hold : node.holds) key.push_back(rows_.Add(hold.usages));
  key.push_back(static_cast<int32_t>(edges.size()));
  const auto [known, inserted] = answers_.try_emplace(std::move(key));
  if (inserted) known->second = Find(node, edges);
  return &known->second;
}

}  // namespace sbp
