// Candidates of a node that another one beats whatever the neighbours do: no dearer beside any of their candidates, and
// holding no more. Answers are remembered, so that equal nodes of equal layers are looked at once.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "search/core.h"
#include "search/matrices.h"
#include "search/number_rows.h"

namespace sbp {

class Domination {
 public:
  explicit Domination(const Matrices& matrices) : matrices_(matrices) {}

  struct Answer {
    std::vector<int32_t> kept;
    std::vector<int32_t> instead;  // of each candidate: one that is kept and no worse
  };
  // `edges`: the matrices of the node's edges, its candidates as rows. Where that would be too much work: nullptr.
  const Answer* Of(const Core::Node& node, std::span<const MatrixId> edges);

 private:
  // An edge, for asking how much dearer a candidate can be than another over all candidates of the other end.
  struct Edge {
    const Matrix* matrix = nullptr;
    // Where each row reads one line: how much dearer line i can be than line j, NaN until asked.
    std::vector<double> known;
    // Else the rows, written out along their lines, but not along those of columns.
    std::vector<double> written_out;
    // Columns, per line or row, where a comparison is likely to fail: where it is cheapest, and where it is dearest.
    std::vector<int32_t> cheapest, dearest;

    bool by_line() const { return written_out.empty(); }
    int32_t line(int32_t candidate) const { return by_line() ? matrix->row_lines.at(candidate) : candidate; }
    const double* row(int32_t line) const;
    // No more than Most; infinity: the worse one does where the other is forbidden.
    double Least(int32_t better, int32_t worse) const;
    double Most(int32_t better, int32_t worse);
  };
  static Edge MakeEdge(const Matrix& matrix);
  Answer Find(const Core::Node& node, std::span<const MatrixId> edges);

  const Matrices& matrices_;
  std::map<MatrixId, Edge> edges_;
  NumberRows<double> rows_;  // costs and usages
  std::map<std::vector<int32_t>, Answer> answers_;
};

}  // namespace sbp
