// Where the pins of a problem differ from those of an earlier one of the same graph.
#pragma once

#include <vector>

#include "base/ids.h"
#include "plan/pins.h"
#include "problem/problem.h"

namespace sbp {

struct ChangedPins {
  // What is pinned otherwise now, or was, ascending.
  std::vector<TensorId> tensors;
  std::vector<OpId> ops;
  // Of those, sources whose earlier pin is gone or another one; other pins that are gone or other ones.
  std::vector<TensorId> freed_sources;
  bool freed_others = false;
  bool empty() const { return tensors.empty() && ops.empty(); }
};
ChangedPins FindChangedPins(const Graph& graph, const Pins& before, const Pins& now);

}  // namespace sbp
