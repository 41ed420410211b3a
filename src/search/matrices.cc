#include "search/matrices.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

namespace sbp {
namespace {

constexpr size_t kSpread = 2;  // lines that are read so often, on average, stay a table

enum Operation : int32_t { kSelect, kTranspose, kSum, kMinSum };

uint64_t HashOf(const Matrix& matrix) {
  uint64_t hash = static_cast<uint64_t>(matrix.rows) * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(matrix.columns);
  const auto mix = [&](uint64_t number) {
    hash = (hash ^ number) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 31;
  };
  // Chains side by side: of one, each step would wait for the one before.
  constexpr size_t kLanes = 8;
  std::array<uint64_t, kLanes> lanes = {1, 2, 3, 4, 5, 6, 7, 8};
  const size_t whole = matrix.table.size() - matrix.table.size() % kLanes;
  for (size_t begin = 0; begin < whole; begin += kLanes) {
    for (size_t i = 0; i < kLanes; ++i) {
      const uint64_t number = lanes[i] ^ std::bit_cast<uint64_t>(matrix.table[begin + i]);
      lanes[i] = std::rotl(number, 29) * 0x9E3779B97F4A7C15u;
    }
  }
  for (const uint64_t lane : lanes) mix(lane);
  for (size_t i = whole; i < matrix.table.size(); ++i) mix(std::bit_cast<uint64_t>(matrix.table[i]));
  for (const TableLines* lines : {&matrix.row_lines, &matrix.column_lines}) {
    for (const int32_t line : lines->first) mix(static_cast<uint64_t>(line));
    for (const int32_t line : lines->second) mix(static_cast<uint64_t>(line));
  }
  return hash;
}

// Without a branch per entry, as most tables have none.
bool HasForbidden(const std::vector<double>& table) {
  constexpr size_t kBlock = 256;
  for (size_t begin = 0; begin < table.size(); begin += kBlock) {
    const size_t end = std::min(table.size(), begin + kBlock);
    double most = -kForbidden;
    for (size_t i = begin; i < end; ++i) most = std::max(most, table[i]);
    if (most == kForbidden) return true;
  }
  return false;
}

// entry = row_part + column_part over all finite entries, with no forbidden entry at all.
bool Separate(const Matrix& matrix, MatrixFacts& facts) {
  std::vector<double> first_scratch, scratch;
  const double* first = matrix.Row(0, first_scratch);
  for (int32_t i = 0; i < matrix.rows; ++i) {
    const double* row = matrix.Row(i, scratch);
    const double shift = row[0] - first[0];
    for (int32_t j = 0; j < matrix.columns; ++j) {
      if (std::isinf(row[j]) || row[j] != first[j] + shift) return false;
    }
  }
  facts.separable = true;
  for (int32_t i = 0; i < matrix.rows; ++i) facts.row_part.push_back(matrix.at(i, 0) - first[0]);
  facts.column_part.assign(first, first + matrix.columns);
  return true;
}

// The lines of rows map[0], map[1]..., of a table of `count` lines.
TableLines Compose(const TableLines& lines, std::span<const int32_t> map) {
  TableLines result;
  for (const int32_t i : map) {
    result.first.push_back(lines.at(i));
    if (!lines.second.empty()) result.second.push_back(lines.second[i]);
  }
  return result;
}

// Numbers the lines that are read, in order of appearance: kept[new] = old.
std::vector<int32_t> Renumber(TableLines& lines, int32_t count) {
  std::vector<int32_t> kept;
  if (lines.plain()) {
    kept.resize(count);
    std::iota(kept.begin(), kept.end(), 0);
    return kept;
  }
  std::vector<int32_t> number(count, -1);
  const auto visit = [&](int32_t& line) {
    if (number[line] < 0) {
      number[line] = static_cast<int32_t>(kept.size());
      kept.push_back(line);
    }
    line = number[line];
  };
  if (lines.second == lines.first) lines.second.clear();
  for (size_t i = 0; i < lines.first.size(); ++i) {
    visit(lines.first[i]);
    if (!lines.second.empty()) visit(lines.second[i]);
  }
  return kept;
}

// Rows written out: one line each.
Matrix InFull(const Matrix& matrix) {
  std::vector<double> entries, scratch;
  entries.reserve(static_cast<size_t>(matrix.rows) * matrix.columns);
  for (int32_t i = 0; i < matrix.rows; ++i) {
    const double* row = matrix.Row(i, scratch);
    entries.insert(entries.end(), row, row + matrix.columns);
  }
  return Matrix::Plain(matrix.rows, matrix.columns, std::move(entries));
}

// Leaves out lines that nobody reads; a matrix that is no larger than its table and lines is written out.
Matrix Tidy(Matrix matrix) {
  if (matrix.plain()) return matrix;
  const std::vector<int32_t> rows = Renumber(matrix.row_lines, matrix.table_rows);
  const std::vector<int32_t> columns = Renumber(matrix.column_lines, matrix.table_columns);
  std::vector<double> table;
  table.reserve(rows.size() * columns.size());
  for (const int32_t row : rows) {
    for (const int32_t column : columns) table.push_back(matrix.table_row(row)[column]);
  }
  matrix.table = std::move(table);
  matrix.table_rows = static_cast<int32_t>(rows.size());
  matrix.table_columns = static_cast<int32_t>(columns.size());
  const int64_t lines = 2 * (int64_t{matrix.rows} + matrix.columns);
  const bool worth = int64_t{matrix.rows} * matrix.columns > static_cast<int64_t>(matrix.table.size()) + lines;
  return worth ? matrix : InFull(matrix);
}

}  // namespace

Matrix Matrix::Plain(int32_t rows, int32_t columns, std::vector<double> entries) {
  return {rows, columns, std::move(entries), rows, columns, {}, {}};
}

double Matrix::at(int32_t row, int32_t column) const {
  const double* first = table_row(row_lines.at(row));
  const int32_t c = column_lines.at(column);
  double least = first[c];
  if (row_lines.second.empty() && column_lines.second.empty()) return least;
  const double* second = table_row(row_lines.other(row));
  const int32_t d = column_lines.other(column);
  for (const double entry : {first[d], second[c], second[d]}) least = std::min(least, entry);
  return least;
}

const double* Matrix::Row(int32_t row, std::vector<double>& scratch) const {
  const double* first = table_row(row_lines.at(row));
  if (row_lines.second.empty() && column_lines.plain()) return first;
  scratch.resize(columns);
  if (row_lines.second.empty() && column_lines.second.empty()) {
    for (int32_t j = 0; j < columns; ++j) scratch[j] = first[column_lines.first[j]];
    return scratch.data();
  }
  const double* second = table_row(row_lines.other(row));
  for (int32_t j = 0; j < columns; ++j) {
    const int32_t c = column_lines.at(j);
    scratch[j] = std::min(first[c], second[c]);
  }
  for (size_t j = 0; j < column_lines.second.size(); ++j) {
    const int32_t c = column_lines.second[j];
    scratch[j] = std::min(scratch[j], std::min(first[c], second[c]));
  }
  return scratch.data();
}

MatrixId Matrices::Add(Matrix matrix) { return AddTidy(Tidy(std::move(matrix))); }

MatrixId Matrices::AddTidy(Matrix matrix) {
  std::vector<MatrixId>& same_hash = by_hash_[HashOf(matrix)];
  for (const MatrixId id : same_hash) {
    if (matrices_[id] == matrix) return id;
  }
  same_hash.push_back(static_cast<MatrixId>(matrices_.size()));
  matrices_.push_back(std::move(matrix));
  facts_of_.push_back(-1);
  return same_hash.back();
}

MatrixFacts Matrices::Derive(const Matrix& matrix) {
  MatrixFacts facts;
  if (matrix.rows > 1 && matrix.columns > 1 && !HasForbidden(matrix.table)) {
    Separate(matrix, facts);
    return facts;
  }
  std::vector<int32_t> row_count(matrix.rows, 0), column_count(matrix.columns, 0);
  std::vector<int32_t> column_of_row(matrix.rows, 0), row_of_column(matrix.columns, 0);
  std::vector<double> scratch;
  for (int32_t i = 0; i < matrix.rows; ++i) {
    const double* row = matrix.Row(i, scratch);
    for (int32_t j = 0; j < matrix.columns; ++j) {
      if (std::isinf(row[j])) continue;
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

// What Select makes of a plain matrix.
Matrix Matrices::PickPlain(const Matrix& from, MapId rows, MapId columns) const {
  const auto count = [&](MapId map, int32_t all) {
    return map == kIdentity ? all : static_cast<int32_t>(Map(map).size());
  };
  const int32_t num_rows = count(rows, from.rows), num_columns = count(columns, from.columns);
  std::vector<double> entries(static_cast<size_t>(num_rows) * num_columns);
  double* to = entries.data();
  for (int32_t i = 0; i < num_rows; ++i, to += num_columns) {
    const double* row = from.table_row(rows == kIdentity ? i : Map(rows)[i]);
    if (columns == kIdentity) {
      std::copy_n(row, num_columns, to);
    } else {
      const std::span<const int32_t> picked = Map(columns);
      for (int32_t j = 0; j < num_columns; ++j) to[j] = row[picked[j]];
    }
  }
  return Matrix::Plain(num_rows, num_columns, std::move(entries));
}

MatrixId Matrices::Select(MatrixId id, MapId rows, MapId columns) {
  if (rows == kIdentity && columns == kIdentity) return id;
  const auto [known, inserted] = made_.try_emplace({kSelect, id, rows, columns}, -1);
  if (!inserted) return known->second;
  const Matrix& from = matrices_[id];
  // A node of few candidates merged into one of many: the few lines stay, and are read by many.
  const auto spreads = [&](MapId map, int32_t lines) {
    return map != kIdentity && Map(map).size() > kSpread * static_cast<size_t>(lines);
  };
  if (from.plain() && !spreads(rows, from.rows) && !spreads(columns, from.columns))
    return known->second = AddTidy(PickPlain(from, rows, columns));
  Matrix result = from;
  if (rows != kIdentity) {
    result.row_lines = Compose(from.row_lines, Map(rows));
    result.rows = static_cast<int32_t>(Map(rows).size());
  }
  if (columns != kIdentity) {
    result.column_lines = Compose(from.column_lines, Map(columns));
    result.columns = static_cast<int32_t>(Map(columns).size());
  }
  return known->second = Add(std::move(result));
}

MatrixId Matrices::Transpose(MatrixId id) {
  const auto [known, inserted] = made_.try_emplace({kTranspose, id}, -1);
  if (!inserted) return known->second;
  const Matrix& from = matrices_[id];
  Matrix result{from.columns, from.rows, {}, from.table_columns, from.table_rows, from.column_lines, from.row_lines};
  result.table.resize(from.table.size());
  constexpr int32_t kBlock = 16;  // rows whose lines of cache are written to while they are at hand
  for (int32_t begin = 0; begin < from.table_rows; begin += kBlock) {
    const int32_t end = std::min(from.table_rows, begin + kBlock);
    for (int32_t j = 0; j < from.table_columns; ++j) {
      double* to = result.table.data() + static_cast<size_t>(j) * from.table_rows;
      for (int32_t i = begin; i < end; ++i) to[i] = from.table_row(i)[j];
    }
  }
  const MatrixId made = AddTidy(std::move(result));
  known->second = made;
  made_.try_emplace({kTranspose, made}, id);
  return made;
}

MatrixId Matrices::Sum(MatrixId a, MatrixId b) {
  const auto [known, inserted] = made_.try_emplace({kSum, std::min(a, b), std::max(a, b)}, -1);
  if (!inserted) return known->second;
  const auto adds_by_line = [](const Matrix& x, const Matrix& y) {
    return x.row_lines == y.row_lines && x.column_lines == y.column_lines && x.row_lines.second.empty() &&
           x.column_lines.second.empty();
  };
  Matrix result = matrices_[a];
  if (adds_by_line(matrices_[a], matrices_[b])) {
    for (size_t i = 0; i < result.table.size(); ++i) result.table[i] += matrices_[b].table[i];
  } else {
    result = InFull(result);
    std::vector<double> scratch;
    for (int32_t i = 0; i < result.rows; ++i) {
      const double* row = matrices_[b].Row(i, scratch);
      double* entries = result.table.data() + static_cast<size_t>(i) * result.columns;
      for (int32_t j = 0; j < result.columns; ++j) entries[j] += row[j];
    }
  }
  return known->second = Add(std::move(result));
}

MatrixId Matrices::Less(MatrixId id, double offset) {
  if (offset == 0) return id;
  Matrix result = matrices_[id];
  for (double& entry : result.table) entry -= offset;
  return Add(std::move(result));
}

MatrixId Matrices::MinSum(std::span<const double> costs, MatrixId a, MatrixId b) {
  const auto [known, inserted] = made_.try_emplace({kMinSum, costs_.Add(costs), a, b}, -1);
  if (!inserted) return known->second;
  const Matrix& left = matrices_[a];
  const Matrix& right = matrices_[b];
  // The columns keep their lines; along the eliminated side the lesser of two lines is written out.
  Matrix result{left.columns,      right.columns,     {}, left.table_columns, right.table_columns,
                left.column_lines, right.column_lines};
  result.table.assign(static_cast<size_t>(result.table_rows) * result.table_columns, kForbidden);
  for (int32_t k = 0; k < static_cast<int32_t>(costs.size()); ++k) {
    const double* left_rows[] = {left.table_row(left.row_lines.at(k)), left.table_row(left.row_lines.other(k))};
    const double* right_rows[] = {right.table_row(right.row_lines.at(k)), right.table_row(right.row_lines.other(k))};
    for (int32_t i = 0; i < result.table_rows; ++i) {
      const double cost = costs[k] + std::min(left_rows[0][i], left_rows[1][i]);
      if (std::isinf(cost)) continue;
      double* least = result.table.data() + static_cast<size_t>(i) * result.table_columns;
      for (int32_t j = 0; j < result.table_columns; ++j) {
        least[j] = std::min(least[j], cost + std::min(right_rows[0][j], right_rows[1][j]));
      }
    }
  }
  return known->second = Add(std::move(result));
}

}  // namespace sbp
