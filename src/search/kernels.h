// The inner loop of the dual ascent and of dynamic programming, apart so that it can be compiled for speed.
#pragma once

#include <cstdint>

namespace sbp {

// least[j] = min over i of (matrix[i][j] - shift[i]); `matrix` is row-major with `columns` columns. rows > 0.
void MinOverRows(const double* matrix, int32_t rows, int32_t columns, const double* shift, double* least);

// least[i] = min over j of (base[j] + matrix[i][j]); `matrix` is row-major. columns > 0.
void LeastSums(const double* base, const double* matrix, int32_t rows, int32_t columns, double* least);

// The most that a[k] exceeds b[k] by, over all k where b[k] is finite; -infinity if there is none.
double MostAbove(const double* a, const double* b, int32_t count);

}  // namespace sbp
