// Matrices of costs that are shared by id; an operation that was made before returns what it made then, so that the
// thousandth equal layer costs a look-up. Entries are whole numbers or infinity (forbidden), exact in doubles.
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

struct Matrix {
  int32_t rows = 0;
  int32_t columns = 0;
  std::vector<double> entries;  // row-major
  double at(int32_t row, int32_t column) const { return entries[static_cast<size_t>(row) * columns + column]; }
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
  MatrixId Sum(MatrixId a, MatrixId b);  // of equal shape

 private:
  MatrixFacts Derive(const Matrix& matrix);

  std::deque<Matrix> matrices_;
  std::unordered_map<uint64_t, std::vector<MatrixId>> by_hash_;
  std::deque<MatrixFacts> facts_;
  std::vector<int32_t> facts_of_;  // -1: not derived
  NumberRows<int32_t> maps_;
  std::map<std::vector<int32_t>, MatrixId> made_;  // operation and operands -> result
};

}  // namespace sbp
