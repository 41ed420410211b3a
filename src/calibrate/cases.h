// Cases: the graphs that calibration runs besides the user's models.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "graph/graph.h"
#include "graph/tensor_data.h"
#include "rule/rule_set.h"
#include "sbp/mesh.h"

namespace sbp {

// A graph with what its run needs.
struct CalibrationCase {
  Graph graph;  // resolved
  std::vector<TensorData> inputs;
  std::vector<std::pair<std::string, std::string>> pins;  // text, where
};

// How the names of ops begin that run for the caches' sake; their times say nothing.
inline constexpr std::string_view kFirstOp = "first.";

struct CaseLimits {
  double flops = 0, bytes = 0;  // of one op: larger ones are left out
};

// One case a row of `text` (rules/calibration.txt), an op of it for each size. Errors name file and line.
Result<std::vector<CalibrationCase>> OpCases(std::string_view text, std::string_view file, const RuleSet& rules,
                                             const CaseLimits& limits);
// rules/calibration.txt, compiled in.
std::string_view BuiltinCalibrationText();

// The runs of bytes in which parts of boxed tensors lie that are not one run each. Boxing is measured with these
// lengths.
inline constexpr double kMeasuredRuns[] = {128, 2048, 65536};
double MeasuredRun(double run_bytes);  // the closest by its logarithm; 0 of 0

// The model with some of its parameters split along the mesh's only axis, which ones and how drawn by `number`.
Graph WithRandomSplits(Graph graph, const Mesh& mesh, uint64_t number);

// A tensor of about `bytes` bytes (f32, two dimensions, both divisible by `axis`'s size) that goes through every kind
// of boxing on `axis`; it is B on the other axes. Along its first dimension parts are one run; along the second the
// runs are as long as `run_bytes`, as far as the tensor is large enough. What runs do not matter to is done with the
// longest alone.
Result<CalibrationCase> BoxingCase(const Mesh& mesh, int axis, int64_t bytes, double run_bytes, const RuleSet& rules);

// Convolutions of rows of `bytes` bytes, split among the mesh's only axis so that each device needs one row of a
// neighbour on either side, and the same of one device's rows alone.
Result<CalibrationCase> HaloCase(const Mesh& mesh, int64_t bytes, const RuleSet& rules);

// So many products in a row that nothing else waits for, and, if asked for, an all-reduce over the mesh's only axis
// beside them.
Result<CalibrationCase> OverlapCase(const Mesh& mesh, int products, bool collective, const RuleSet& rules);

}  // namespace sbp
