// How a plan stores each parameter over an axis and how the step reads it.
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "parallelism/words.h"
#include "plan/plan.h"

namespace sbp {

struct ParameterRead {
  Use use;
  bool backward = false;
};
// Behind casts, Refetch and turns (Transpose), in the order of the graph. Not by the optimizer.
std::vector<ParameterRead> ReadsOf(const Graph& graph, const UseTable& uses, TensorId parameter);

struct StyleFound {
  ParameterStyle style = ParameterStyle::kWhole;
  bool gathered = false;  // lies split and is whole where it is read: kWhole
  std::string reason;     // kOther
};
// `experts`: its first dimension is one of stacked matrices.
StyleFound StyleOf(const Plan& plan, TensorId parameter, const std::vector<ParameterRead>& reads, int axis,
                   bool experts);

}  // namespace sbp
