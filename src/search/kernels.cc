#include "search/kernels.h"

#include <cmath>

// On x86-64 this is compiled twice; the program takes what the processor has. The results are the same: only
// subtraction and comparison of doubles. (Sanitizers start too late for the choice at load time.)
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define SBP_WIDEST_VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define SBP_WIDEST_VECTORS
#endif

namespace sbp {

SBP_WIDEST_VECTORS void MinOverRows(const double* matrix, int32_t rows, int32_t columns, const double* shift,
                                    double* __restrict least) {
  for (int32_t j = 0; j < columns; ++j) least[j] = matrix[j] - shift[0];
  for (int32_t i = 1; i < rows; ++i) {
    const double* row = matrix + static_cast<int64_t>(i) * columns;
    const double by = shift[i];
    for (int32_t j = 0; j < columns; ++j) {
      const double value = row[j] - by;
      least[j] = value < least[j] ? value : least[j];
    }
  }
}

SBP_WIDEST_VECTORS void LeastSums(const double* base, const double* matrix, int32_t rows, int32_t columns,
                                  double* __restrict least) {
  for (int32_t i = 0; i < rows; ++i) {
    const double* row = matrix + static_cast<int64_t>(i) * columns;
    // Four at a time, side by side.
    double lanes[4] = {__builtin_inf(), __builtin_inf(), __builtin_inf(), __builtin_inf()};
    int32_t j = 0;
    for (; j + 4 <= columns; j += 4) {
      for (int lane = 0; lane < 4; ++lane) {
        const double sum = base[j + lane] + row[j + lane];
        lanes[lane] = sum < lanes[lane] ? sum : lanes[lane];
      }
    }
    for (; j < columns; ++j) {
      const double sum = base[j] + row[j];
      lanes[0] = sum < lanes[0] ? sum : lanes[0];
    }
    for (int lane = 1; lane < 4; ++lane) lanes[0] = lanes[lane] < lanes[0] ? lanes[lane] : lanes[0];
    least[i] = lanes[0];
  }
}

SBP_WIDEST_VECTORS double MostAbove(const double* a, const double* b, int32_t count) {
  // Four at a time, side by side; infinity less infinity is no number and loses every comparison.
  constexpr double kNone = -__builtin_inf();
  double most[4] = {kNone, kNone, kNone, kNone};
  int32_t k = 0;
  for (; k + 4 <= count; k += 4) {
    for (int lane = 0; lane < 4; ++lane) {
      const double above = a[k + lane] - b[k + lane];
      most[lane] = above > most[lane] ? above : most[lane];
    }
  }
  for (; k < count; ++k) {
    const double above = a[k] - b[k];
    most[0] = above > most[0] ? above : most[0];
  }
  for (int lane = 1; lane < 4; ++lane) most[0] = most[lane] > most[0] ? most[lane] : most[0];
  return most[0];
}

SBP_WIDEST_VECTORS void TakeMessage(const double* __restrict message, int32_t count, double* __restrict shift,
                                    double* __restrict costs) {
  for (int32_t a = 0; a < count; ++a) {
    costs[a] += message[a] - shift[a];
    shift[a] = message[a];
  }
}

SBP_WIDEST_VECTORS double TakeLeast(double* costs, int32_t count) {
  double lanes[4] = {costs[0], costs[0], costs[0], costs[0]};
  int32_t a = 0;
  for (; a + 4 <= count; a += 4) {
    for (int lane = 0; lane < 4; ++lane) lanes[lane] = costs[a + lane] < lanes[lane] ? costs[a + lane] : lanes[lane];
  }
  for (; a < count; ++a) lanes[0] = costs[a] < lanes[0] ? costs[a] : lanes[0];
  for (int lane = 1; lane < 4; ++lane) lanes[0] = lanes[lane] < lanes[0] ? lanes[lane] : lanes[0];
  const double least = lanes[0];
  for (a = 0; a < count; ++a) costs[a] -= least;
  return least;
}

SBP_WIDEST_VECTORS void RaiseForced(const double* __restrict costs, double bound, int32_t count,
                                    double* __restrict forced) {
  for (int32_t a = 0; a < count; ++a) {
    const double now = bound + costs[a];
    forced[a] = now > forced[a] ? now : forced[a];
  }
}

SBP_WIDEST_VECTORS void TakeShares(double part, double times, int32_t count, double* __restrict costs,
                                   double* __restrict shares) {
  for (int32_t a = 0; a < count; ++a) {
    shares[a] = std::floor(costs[a] * part);
    costs[a] -= shares[a] * times;
  }
}

SBP_WIDEST_VECTORS void HandOn(const double* __restrict shares, int32_t count, double* __restrict shift) {
  for (int32_t a = 0; a < count; ++a) shift[a] -= shares[a];
}

namespace {

// most[lines[i]] = max(most[lines[i]], shift[i]). Neighbours often share a line: they are taken together.
void MostPerLine(const std::vector<int32_t>& lines, const double* shift, double* most) {
  for (size_t i = 0; i < lines.size();) {
    const int32_t line = lines[i];
    double here = most[line];
    for (; i < lines.size() && lines[i] == line; ++i) here = shift[i] > here ? shift[i] : here;
    most[line] = here;
  }
}

}  // namespace

void MinOverRows(const Matrix& matrix, const double* shift, double* least, LineScratch& scratch) {
  if (!matrix.row_lines.plain()) {
    scratch.rows.assign(matrix.table_rows, -kForbidden);
    MostPerLine(matrix.row_lines.first, shift, scratch.rows.data());
    MostPerLine(matrix.row_lines.second, shift, scratch.rows.data());
    shift = scratch.rows.data();
  }
  if (matrix.column_lines.plain()) {
    MinOverRows(matrix.table.data(), matrix.table_rows, matrix.table_columns, shift, least);
    return;
  }
  scratch.columns.resize(matrix.table_columns);
  const double* columns = scratch.columns.data();
  MinOverRows(matrix.table.data(), matrix.table_rows, matrix.table_columns, shift, scratch.columns.data());
  const std::vector<int32_t>& first = matrix.column_lines.first;
  const std::vector<int32_t>& second = matrix.column_lines.second;
  if (second.empty()) {
    for (size_t j = 0; j < first.size(); ++j) least[j] = columns[first[j]];
    return;
  }
  for (size_t j = 0; j < first.size(); ++j) {
    const double a = columns[first[j]];
    const double b = columns[second[j]];
    least[j] = b < a ? b : a;
  }
}

int64_t Work(const Matrix& matrix) {
  const size_t lines = matrix.row_lines.first.size() + matrix.row_lines.second.size() +
                       matrix.column_lines.first.size() + matrix.column_lines.second.size();
  return static_cast<int64_t>(matrix.table.size() + lines);
}

}  // namespace sbp
