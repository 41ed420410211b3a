// The inner loop of the dual ascent and of dynamic programming, apart so that it can be compiled for speed.
#pragma once

#include <cstdint>
#include <vector>

#include "search/matrices.h"

namespace sbp {

// least[j] = min over i of (matrix[i][j] - shift[i]); `matrix` is row-major with `columns` columns. rows > 0.
void MinOverRows(const double* matrix, int32_t rows, int32_t columns, const double* shift, double* least);

// least[i] = min over j of (base[j] + matrix[i][j]); `matrix` is row-major. columns > 0.
void LeastSums(const double* base, const double* matrix, int32_t rows, int32_t columns, double* least);

// The most that a[k] exceeds b[k] by, over all k where b[k] is finite; -infinity if there is none.
double MostAbove(const double* a, const double* b, int32_t count);

// What an edge says now takes the place of what it said (`shift`) in the costs of its end.
void TakeMessage(const double* message, int32_t count, double* shift, double* costs);
// Subtracts the least of `costs` from all; returns it.
double TakeLeast(double* costs, int32_t count);
// forced[a] = max(forced[a], bound + costs[a]).
void RaiseForced(const double* costs, double bound, int32_t count, double* forced);
// Takes the whole part of costs[a] * part, `times` times, from costs[a]; leaves it in shares[a].
void TakeShares(double part, double times, int32_t count, double* costs, double* shares);
// shift[a] -= shares[a].
void HandOn(const double* shares, int32_t count, double* shift);

// MinOverRows for a matrix of any form: `shift` has one entry per row, `least` one per column.
struct LineScratch {
  std::vector<double> rows, columns;  // per line of the table
};
void MinOverRows(const Matrix& matrix, const double* shift, double* least, LineScratch& scratch);
// Entries and lines that it looks at.
int64_t Work(const Matrix& matrix);

}  // namespace sbp
