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

// Does a read in the forward pass look rows up?
bool IsLookedUp(const Graph& graph, const std::vector<ParameterRead>& reads);

// Of what the parameter is split by columns into over an axis: is it made whole over it before a product or a sum uses
// it up, or is it a result of the model (what an added loss reads is one)?
bool GathersProduct(const Plan& plan, const UseTable& uses, const std::vector<ParameterRead>& reads, int axis);

// Is another operand of a read in the forward pass split along dimension 1, the sequence, over the axis?
bool ReadsAlongSequence(const Plan& plan, const std::vector<ParameterRead>& reads, int axis);

}  // namespace sbp
