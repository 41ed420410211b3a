// Matrices of costs that are shared by id; an operation that was made before returns what it made then, so that the
// thousandth equal layer costs a look-up. Entries are whole numbers or infinity (forbidden), exact in doubles.
//
// A matrix may be larger than what it says: many of its rows are equal, or the lesser of two others at each place (a
// reader takes a tensor from where it was written or from a copy). It is then kept as a small table and the lines of it
// that each row and column reads. Sums over a chain of such matrices stay of that form, and to find the least of each
// column costs the table and the lines, not rows times columns.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "search/number_rows.h"

namespace sbp {

inline constexpr double kForbidden = std::numeric_limits<double>::infinity();

using MatrixId = int32_t;
using MapId = int32_t;  // a list of indices, shared too
inline constexpr MapId kIdentity = -1;

// The lines of a table that stand for the rows (or columns) of a matrix.
struct TableLines {
  std::vector<int32_t> first;   // per row; empty: row i reads line i
  std::vector<int32_t> second;  // the other line that it reads; empty: none
  bool plain() const { return first.empty(); }
  int32_t at(int32_t row) const { return first.empty() ? row : first[row]; }
  int32_t other(int32_t row) const { return second.empty() ? at(row) : second[row]; }
  bool operator==(const TableLines&) const = default;
};

struct Matrix {
  int32_t rows = 0;
  int32_t columns = 0;
  std::vector<double> table;  // row-major; every line of it is read by some row or column
  int32_t table_rows = 0, table_columns = 0;
  TableLines row_lines, column_lines;

  static Matrix Plain(int32_t rows, int32_t columns, std::vector<double> entries);
  bool plain() const { return row_lines.plain() && column_lines.plain(); }
  // The least of the table's entries at the lines of `row` and `column`.
  double at(int32_t row, int32_t column) const;
  // A whole row: a pointer into the table where it stands there, else `scratch`, filled.
  const double* Row(int32_t row, std::vector<double>& scratch) const;
  const double* table_row(int32_t line) const { return table.data() + static_cast<size_t>(line) * table_columns; }
  bool operator==(const Matrix&) const = default;
};

// What the entries alone say about an edge.
struct MatrixFacts {
  MapId live_rows = kIdentity;      // rows with a finite entry, if not all
  MapId live_columns = kIdentity;   // columns likewise
  MapId column_of_row = kIdentity;  // every row has one finite entry: where
  MapId row_of_column = kIdentity;
  bool separable = false;  // entry = row_part + column_part
  std::vector<double> row_part;
  std::vector<double> column_part;
};

class Matrices {
 public:
  Matrices() = default;
  Matrices(Matrices&&) = default;  // entries stay where they are
  Matrices& operator=(Matrices&&) = default;
  MatrixId Add(Matrix matrix);
  const Matrix& operator[](MatrixId id) const { return matrices_[id]; }
  const MatrixFacts& Facts(MatrixId id);

  MapId AddMap(std::span<const int32_t> map) { return maps_.Add(map); }
  std::span<const int32_t> Map(MapId id) const { return maps_[id]; }

  // result[i][j] = matrix[rows[i]][columns[j]]; kIdentity stands for all.
  MatrixId Select(MatrixId matrix, MapId rows, MapId columns);
  MatrixId Transpose(MatrixId matrix);
  MatrixId Sum(MatrixId a, MatrixId b);           // of equal shape
  MatrixId Less(MatrixId matrix, double offset);  // taken from every entry
  // result[i][j] = least over k of costs[k] + a[k][i] + b[k][j].
  MatrixId MinSum(std::span<const double> costs, MatrixId a, MatrixId b);

 private:
  MatrixId AddTidy(Matrix matrix);  // all of whose lines are read
  Matrix PickPlain(const Matrix& from, MapId rows, MapId columns) const;
  MatrixFacts Derive(const Matrix& matrix);

  std::deque<Matrix> matrices_;
  std::unordered_map<uint64_t, std::vector<MatrixId>> by_hash_;
  std::deque<MatrixFacts> facts_;
  std::vector<int32_t> facts_of_;  // -1: not derived
  NumberRows<int32_t> maps_;
  NumberRows<double> costs_;
  std::map<std::vector<int32_t>, MatrixId> made_;  // operation and operands -> result
};

}  // namespace sbp
