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
  // How much dearer a candidate can be than another, over all candidates of the other end.
  struct Worst {
    const std::vector<double>* by_line = nullptr;  // [better][worse], of lines; nullptr: rows are compared one by one
    const TableLines* lines = nullptr;
    const Matrix* matrix = nullptr;
    std::vector<double> rows;  // written out along the lines of rows, but not of columns
  };
  const std::vector<double>& ByLine(MatrixId matrix);
  Worst WorstOf(MatrixId matrix);
  Answer Find(const Core::Node& node, std::span<const MatrixId> edges);

  const Matrices& matrices_;
  std::map<MatrixId, std::vector<double>> by_line_;
  NumberRows<double> rows_;  // costs and usages
  std::map<std::vector<int32_t>, Answer> answers_;
};

}  // namespace sbp
