// How far a run's tensors are from those of the unsharded run, and how far they may be.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "graph/graph.h"
#include "runtime/data/value.h"
#include "runtime/run/run_report.h"
#include "runtime/run/tensor_store.h"

namespace sbp {

// A graph that runs unsharded beside the plan, with its own values.
struct Twin {
  const Graph* graph = nullptr;  // null: there is none
  TensorStore* store = nullptr;
};

// The worst of the copies that the devices hold. A difference in shape is the report's problem.
void CompareCopies(const std::vector<Value>& copies, const Value& reference, TensorReport& report);

// How far the reference has been from the same run in f64 so far is the rounding that may be expected. A tensor may
// differ by kRoundings times that, where it is more than the tolerance: gradients that vanish by an identity hold
// nothing else, and an optimizer that divides by their size makes whole numbers of it. What a plan does wrong is not in
// it.
inline constexpr double kRoundings = 30;
class Rounding {
 public:
  // Sets `report.allowed`. `name`: of the tensor, whose largest rounding of all calls counts.
  Status Allow(const std::string& name, const Value& reference, const Value& exact, TensorReport& report);

 private:
  std::map<std::string, double> most_;
};

}  // namespace sbp
