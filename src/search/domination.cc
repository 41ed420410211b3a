#include "search/domination.h"

#include <algorithm>
#include <numeric>

#include "search/kernels.h"

namespace sbp {
namespace {

constexpr double kMostWork = 5e7;         // entries looked at for a matrix
constexpr int32_t kMostCandidates = 100;  // compared in pairs where rows are the lesser of two lines

}  // namespace

const std::vector<double>& Domination::ByLine(MatrixId id) {
  const auto [known, inserted] = by_line_.try_emplace(id);
  if (!inserted) return known->second;
  const Matrix& matrix = matrices_[id];
  const int32_t count = matrix.table_rows;
  known->second.assign(static_cast<size_t>(count) * count, 0);
  for (int32_t i = 0; i < count; ++i) {
    for (int32_t j = 0; j < count; ++j) {
      known->second[static_cast<size_t>(i) * count + j] =
          MostAbove(matrix.table_row(i), matrix.table_row(j), matrix.table_columns);
    }
  }
  return known->second;
}

// Lesser of two columns: the lesser of what is cheaper by at most d each is cheaper by at most d, so the columns
// themselves say enough.
Domination::Worst Domination::WorstOf(MatrixId id) {
  const Matrix& matrix = matrices_[id];
  if (matrix.row_lines.second.empty()) return {&ByLine(id), &matrix.row_lines, &matrix, {}};
  Worst worst{nullptr, &matrix.row_lines, &matrix, {}};
  worst.rows.reserve(static_cast<size_t>(matrix.rows) * matrix.table_columns);
  for (int32_t i = 0; i < matrix.rows; ++i) {
    const double* first = matrix.table_row(matrix.row_lines.first[i]);
    const double* second = matrix.table_row(matrix.row_lines.second[i]);
    for (int32_t c = 0; c < matrix.table_columns; ++c) worst.rows.push_back(std::min(first[c], second[c]));
  }
  return worst;
}

Domination::Answer Domination::Find(const Core::Node& node, std::span<const MatrixId> edges) {
  const auto count = static_cast<int32_t>(node.costs.size());
  std::vector<Worst> worst;
  for (const MatrixId edge : edges) worst.push_back(WorstOf(edge));
  std::stable_partition(worst.begin(), worst.end(), [](const Worst& edge) { return edge.by_line != nullptr; });
  const auto beats = [&](int32_t better, int32_t worse) {
    double dearer = node.costs[better] - node.costs[worse];
    for (const Core::Hold& hold : node.holds) {
      if (hold.usages[better] > hold.usages[worse]) return false;
    }
    for (const Worst& edge : worst) {
      const int32_t columns = edge.matrix->table_columns;
      dearer += edge.by_line ? (*edge.by_line)[static_cast<size_t>(edge.lines->at(better)) * edge.matrix->table_rows +
                                               edge.lines->at(worse)]
                             : MostAbove(&edge.rows[static_cast<size_t>(better) * columns],
                                         &edge.rows[static_cast<size_t>(worse) * columns], columns);
      if (dearer == kForbidden) return false;
    }
    return dearer <= 0;
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
