// What boxing one tensor costs at least, by how it is written and what its readers want: the part of a tensor in
// layout_bound.h. With d the seconds of boxing (shortest paths in the layout graph), and R readers:
//
// R = 1, 2: least over h of d(written, h) + sum of d(h, wanted_i): what the evaluator finds, or less.
// R >= 3: the evaluator takes a hub h (strategy/transitions.h) and pays once for each layout that is neither written
// nor the hub. Two readers that want the same layout could take that for the hub, so at most R - 1 share any other.
// Hence the lesser of sum of d(written, wanted_i) and, over h, d(written, h) + sum of min(d(written, wanted_i), d(h,
// wanted_i)) / (R - 1). Where the pairs (written, h) are too many: sum of d(written, wanted_i) / R, since no more than
// R share anything.
#pragma once

#include <cstdint>
#include <vector>

#include "strategy/optimal/layout_graph.h"

namespace sbp {

class TensorFactor {
 public:
  explicit TensorFactor(const LayoutGraph& graph) : graph_(&graph) {}
  size_t size() const { return graph_->size(); }

  // Least values of boxing + costs with one layout given; all vectors are per layout of the graph, infinity: never so.
  struct Marginals {
    double least = 0;
    std::vector<double> written;
    std::vector<std::vector<double>> readers;
    int64_t work = 0;
  };
  Marginals Solve(const std::vector<double>& written, const std::vector<std::vector<double>>& readers,
                  bool want_readers, bool want_written) const;

 private:
  void SolveFew(const std::vector<double>& written, const std::vector<std::vector<double>>& readers, bool want_readers,
                bool want_written, Marginals& result) const;
  void SolveShared(const std::vector<double>& written, const std::vector<std::vector<double>>& readers, double share,
                   bool want_readers, Marginals& result) const;
  void SolveWithHubs(const std::vector<double>& written, const std::vector<std::vector<double>>& readers,
                     bool want_readers, Marginals& result) const;

  const LayoutGraph* graph_;
};

}  // namespace sbp
