// How far one tensor is from another.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "graph/graph.h"
#include "kernel/view.h"
#include "runtime/data/value.h"
#include "runtime/run/tensor_store.h"

namespace sbp {

struct Difference {
  double relative_error = 0;  // ||out - ref|| / ||ref||, over all elements; ||out|| where ref is 0; infinite for NaN
  double max_abs_error = 0;
  int64_t outside = 0;  // elements with |out - ref| > atol + rtol |ref|
  int64_t elements = 0;
  int64_t nan = 0;  // elements that are NaN in `out` and not in `ref`
};

struct ElementTolerance {
  double rtol = 0, atol = 0;
};

// Both of one shape; types may differ. NaN equals NaN, an infinity itself. Complex numbers count as pairs. Sequences
// are compared entry by entry: the worst error, the sum of counts. Error: shapes or lengths differ, or one is no
// tensor.
Result<Difference> Compare(const Value& out, const Value& ref, const ElementTolerance& tolerance = {});

// The numbers of a tensor as doubles: complex ones as pairs. Error: no tensor of numbers.
Result<std::vector<double>> NumbersOf(const Value& value);

// Is some element NaN? Is every one a finite number?
bool HasNaN(const TensorView& view);
bool AllFinite(const TensorView& view);

// The first input or parameter of a graph whose value in its store holds NaN; invalid: none.
TensorId FirstWithNaN(const Graph& graph, TensorStore& store);

// The tolerance for a graph's results by the coarsest float type in it: 1e-10 (f64), 1e-4 (f32), 2e-2 (f16, bf16).
double DefaultTolerance(const Graph& graph);

}  // namespace sbp
