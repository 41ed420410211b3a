// Matrices kept as tables and lines say what the same matrices written out say.
#include "search/matrices.h"

#include <gtest/gtest.h>

#include <numeric>

#include "search/kernels.h"
#include "search/random.h"

namespace sbp {
namespace {

TableLines RandomLines(Random& random, int32_t count, int32_t table) {
  TableLines lines;
  if (random.Below(6) == 0 && count == table) return lines;
  for (int32_t i = 0; i < count; ++i) lines.first.push_back(random.Below(table));
  if (random.Below(2) == 0) {
    for (int32_t i = 0; i < count; ++i) lines.second.push_back(random.Below(table));
  }
  return lines;
}

// Large enough to stay a table.
Matrix RandomMatrix(Random& random, int32_t rows, int32_t columns) {
  const int32_t table_rows = 2 + random.Below(5);
  const int32_t table_columns = 2 + random.Below(5);
  Matrix matrix{rows,
                columns,
                {},
                table_rows,
                table_columns,
                RandomLines(random, rows, table_rows),
                RandomLines(random, columns, table_columns)};
  for (int32_t i = 0; i < table_rows * table_columns; ++i) {
    matrix.table.push_back(random.Below(4) == 0 ? kForbidden : random.Below(50));
  }
  return matrix;
}

Matrix InFull(const Matrix& matrix) {
  std::vector<double> entries;
  for (int32_t i = 0; i < matrix.rows; ++i) {
    for (int32_t j = 0; j < matrix.columns; ++j) entries.push_back(matrix.at(i, j));
  }
  return Matrix::Plain(matrix.rows, matrix.columns, std::move(entries));
}

// What the header says of an entry.
double EntryOf(const Matrix& matrix, int32_t row, int32_t column) {
  double least = kForbidden;
  for (const int32_t r : {matrix.row_lines.at(row), matrix.row_lines.other(row)}) {
    for (const int32_t c : {matrix.column_lines.at(column), matrix.column_lines.other(column)}) {
      least = std::min(least, matrix.table[static_cast<size_t>(r) * matrix.table_columns + c]);
    }
  }
  return least;
}

void ExpectSame(const Matrix& found, const Matrix& expected, uint64_t seed) {
  ASSERT_EQ(found.rows, expected.rows);
  ASSERT_EQ(found.columns, expected.columns);
  std::vector<double> scratch;
  for (int32_t i = 0; i < found.rows; ++i) {
    const double* row = found.Row(i, scratch);
    for (int32_t j = 0; j < found.columns; ++j) {
      ASSERT_EQ(found.at(i, j), expected.at(i, j)) << "seed " << seed << ", " << i << ", " << j;
      ASSERT_EQ(row[j], expected.at(i, j)) << "seed " << seed << ", " << i << ", " << j;
    }
  }
}

TEST(Matrices, OperationsOnTablesAreThoseOnEntries) {
  int tables = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    Matrices made, full;
    const Matrix a = RandomMatrix(random, 25, 20), b = RandomMatrix(random, 25, 30), c = RandomMatrix(random, 25, 20);
    for (int32_t i = 0; i < a.rows; ++i) {
      for (int32_t j = 0; j < a.columns; ++j) ASSERT_EQ(a.at(i, j), EntryOf(a, i, j));
    }
    const MatrixId id_a = made.Add(a), id_b = made.Add(b), id_c = made.Add(c);
    const MatrixId full_a = full.Add(InFull(a)), full_b = full.Add(InFull(b)), full_c = full.Add(InFull(c));
    tables += made[id_a].plain() ? 0 : 1;
    ExpectSame(made[id_a], full[full_a], seed);
    ExpectSame(made[made.Transpose(id_a)], full[full.Transpose(full_a)], seed);
    EXPECT_EQ(made.Transpose(made.Transpose(id_a)), id_a) << "seed " << seed;
    ExpectSame(made[made.Sum(id_a, id_c)], full[full.Sum(full_a, full_c)], seed);
    std::vector<double> costs;
    for (int32_t k = 0; k < 25; ++k) costs.push_back(random.Below(8) == 0 ? kForbidden : random.Below(20));
    ExpectSame(made[made.MinSum(costs, id_a, id_b)], full[full.MinSum(costs, full_a, full_b)], seed);
    std::vector<int32_t> rows, columns;
    for (int32_t i = 0; i < 18; ++i) rows.push_back(random.Below(25));
    for (int32_t j = 0; j < 15; ++j) columns.push_back(random.Below(20));
    const auto select = [&](Matrices& matrices, MatrixId id) -> const Matrix& {
      return matrices[matrices.Select(id, matrices.AddMap(rows), matrices.AddMap(columns))];
    };
    ExpectSame(select(made, id_a), select(full, full_a), seed);
  }
  EXPECT_GT(tables, 250);
}

// A node of few candidates that is merged into one of many does not make their table one of many by many.
TEST(Matrices, FewRowsReadByManyStayFew) {
  Random random(1);
  std::vector<double> entries;
  for (int i = 0; i < 3 * 40; ++i) entries.push_back(random.Below(50));
  Matrices matrices;
  const MatrixId few = matrices.Add(Matrix::Plain(3, 40, entries));
  std::vector<int32_t> map;
  for (int i = 0; i < 40; ++i) map.push_back(random.Below(3));
  const MapId spread = matrices.AddMap(map);
  const Matrix& rows = matrices[matrices.Select(few, spread, kIdentity)];
  const Matrix& columns = matrices[matrices.Select(matrices.Transpose(few), kIdentity, spread)];
  EXPECT_EQ(rows.table.size(), entries.size());
  EXPECT_EQ(columns.table.size(), entries.size());
  ASSERT_EQ(rows.rows, 40);
  ASSERT_EQ(columns.columns, 40);
  for (int32_t i = 0; i < 40; ++i) {
    for (int32_t j = 0; j < 40; ++j) {
      EXPECT_EQ(rows.at(i, j), entries[map[i] * 40 + j]);
      EXPECT_EQ(columns.at(j, i), entries[map[i] * 40 + j]);
    }
  }
}

TEST(Matrices, FactsOfTablesAreThoseOfEntries) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    Matrices made, full;
    const Matrix a = RandomMatrix(random, 25, 20);
    const MatrixFacts& found = made.Facts(made.Add(a));
    const MatrixFacts& expected = full.Facts(full.Add(InFull(a)));
    const auto map = [](const Matrices& matrices, MapId id) {
      if (id == kIdentity) return std::vector<int32_t>{-1};
      return std::vector<int32_t>(matrices.Map(id).begin(), matrices.Map(id).end());
    };
    EXPECT_EQ(map(made, found.live_rows), map(full, expected.live_rows)) << "seed " << seed;
    EXPECT_EQ(map(made, found.live_columns), map(full, expected.live_columns)) << "seed " << seed;
    EXPECT_EQ(map(made, found.column_of_row), map(full, expected.column_of_row)) << "seed " << seed;
    EXPECT_EQ(map(made, found.row_of_column), map(full, expected.row_of_column)) << "seed " << seed;
    EXPECT_EQ(found.separable, expected.separable) << "seed " << seed;
  }
}

TEST(Matrices, LeastOfColumnsOfTables) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const Matrix a = RandomMatrix(random, 25, 20);
    std::vector<double> shift, found(20), expected(20);
    for (int32_t i = 0; i < 25; ++i) shift.push_back(random.Below(10) == 0 ? -kForbidden : random.Below(30));
    LineScratch scratch;
    MinOverRows(a, shift.data(), found.data(), scratch);
    for (int32_t j = 0; j < 20; ++j) {
      double least = kForbidden;
      for (int32_t i = 0; i < 25; ++i) least = std::min(least, a.at(i, j) - shift[i]);
      expected[j] = least;
    }
    EXPECT_EQ(found, expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace sbp
