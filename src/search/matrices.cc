#include "search/matrices.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sbp {
namespace {

enum Operation : int32_t { kSelect, kTranspose, kSum };

uint64_t HashOf(const Matrix& matrix) {
  uint64_t hash = static_cast<uint64_t>(matrix.rows) * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(matrix.columns);
  for (const double entry : matrix.entries) {
    hash = (hash ^ std::bit_cast<uint64_t>(entry)) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 31;
  }
  return hash;
}

// entry = row_part + column_part over all finite entries, with no forbidden entry at all.
bool Separate(const Matrix& matrix, MatrixFacts& facts) {
  for (int32_t i = 0; i < matrix.rows; ++i) {
    const double shift = matrix.at(i, 0) - matrix.at(0, 0);
    for (int32_t j = 0; j < matrix.columns; ++j) {
      if (std::isinf(matrix.at(i, j)) || matrix.at(i, j) != matrix.at(0, j) + shift) return false;
    }
  }
  facts.separable = true;
  for (int32_t i = 0; i < matrix.rows; ++i) facts.row_part.push_back(matrix.at(i, 0) - matrix.at(0, 0));
  for (int32_t j = 0; j < matrix.columns; ++j) facts.column_part.push_back(matrix.at(0, j));
  return true;
}

}  // namespace

MatrixId Matrices::Add(Matrix matrix) {
  std::vector<MatrixId>& same_hash = by_hash_[HashOf(matrix)];
  for (const MatrixId id : same_hash) {
    const Matrix& known = matrices_[id];
    if (known.rows == matrix.rows && known.columns == matrix.columns && known.entries == matrix.entries) return id;
  }
  same_hash.push_back(static_cast<MatrixId>(matrices_.size()));
  matrices_.push_back(std::move(matrix));
  facts_of_.push_back(-1);
  return same_hash.back();
}

MatrixFacts Matrices::Derive(const Matrix& matrix) {
  MatrixFacts facts;
  std::vector<int32_t> row_count(matrix.rows, 0), column_count(matrix.columns, 0);
  std::vector<int32_t> column_of_row(matrix.rows, 0), row_of_column(matrix.columns, 0);
  for (int32_t i = 0; i < matrix.rows; ++i) {
    for (int32_t j = 0; j < matrix.columns; ++j) {
      if (std::isinf(matrix.at(i, j))) continue;
      ++row_count[i];
      ++column_count[j];
      column_of_row[i] = j;
      row_of_column[j] = i;
    }
  }
  const auto live = [&](const std::vector<int32_t>& counts) {
    std::vector<int32_t> kept;
    for (size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] > 0) kept.push_back(static_cast<int32_t>(i));
    }
    return kept.size() == counts.size() ? kIdentity : AddMap(kept);
  };
  facts.live_rows = live(row_count);
  facts.live_columns = live(column_count);
  const auto single = [](const std::vector<int32_t>& counts) {
    return std::all_of(counts.begin(), counts.end(), [](int32_t count) { return count == 1; });
  };
  if (single(row_count)) facts.column_of_row = AddMap(column_of_row);
  if (single(column_count)) facts.row_of_column = AddMap(row_of_column);
  if (matrix.rows > 0 && matrix.columns > 0) Separate(matrix, facts);
  return facts;
}

const MatrixFacts& Matrices::Facts(MatrixId id) {
  if (facts_of_[id] < 0) {
    facts_of_[id] = static_cast<int32_t>(facts_.size());
    facts_.push_back(Derive(matrices_[id]));
  }
  return facts_[facts_of_[id]];
}

MatrixId Matrices::Select(MatrixId id, MapId rows, MapId columns) {
  if (rows == kIdentity && columns == kIdentity) return id;
  const auto [known, inserted] = made_.try_emplace({kSelect, id, rows, columns}, -1);
  if (!inserted) return known->second;
  const Matrix& from = matrices_[id];
  const auto all = [](int32_t count) {
    std::vector<int32_t> identity(count);
    for (int32_t i = 0; i < count; ++i) identity[i] = i;
    return identity;
  };
  const std::vector<int32_t> row_map =
      rows == kIdentity ? all(from.rows) : std::vector<int32_t>(Map(rows).begin(), Map(rows).end());
  const std::vector<int32_t> column_map =
      columns == kIdentity ? all(from.columns) : std::vector<int32_t>(Map(columns).begin(), Map(columns).end());
  Matrix result{static_cast<int32_t>(row_map.size()), static_cast<int32_t>(column_map.size()), {}};
  result.entries.reserve(row_map.size() * column_map.size());
  for (const int32_t row : row_map) {
    for (const int32_t column : column_map) result.entries.push_back(from.at(row, column));
  }
  return known->second = Add(std::move(result));
}

MatrixId Matrices::Transpose(MatrixId id) {
  const auto [known, inserted] = made_.try_emplace({kTranspose, id}, -1);
  if (!inserted) return known->second;
  const Matrix& from = matrices_[id];
  Matrix result{from.columns, from.rows, {}};
  result.entries.reserve(from.entries.size());
  for (int32_t j = 0; j < from.columns; ++j) {
    for (int32_t i = 0; i < from.rows; ++i) result.entries.push_back(from.at(i, j));
  }
  return known->second = Add(std::move(result));
}

MatrixId Matrices::Sum(MatrixId a, MatrixId b) {
  const auto [known, inserted] = made_.try_emplace({kSum, std::min(a, b), std::max(a, b)}, -1);
  if (!inserted) return known->second;
  Matrix result = matrices_[a];
  for (size_t i = 0; i < result.entries.size(); ++i) result.entries[i] += matrices_[b].entries[i];
  return known->second = Add(std::move(result));
}

}  // namespace sbp
