// What a run found: numbers against a reference, seconds against the prediction. Printed as text or JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/tensor_type.h"
#include "runtime/compare.h"

namespace sbp {

struct TensorReport {
  std::string name;
  TensorType type;  // as it came out
  bool compared = false;
  Difference difference;
  std::string problem;  // why it could not be compared: another shape, ...
};

struct TaskReport {
  std::string name;  // of the op, or "all-reduce of T"
  std::string kind;  // op type or collective
  double predicted_seconds = 0;
  double measured_seconds = 0;  // of the slowest device, the mean of the micro-batches
};

struct RunReport {
  std::string what;     // "8 tasks on 4 devices (cpu), mesh data=2,model=2" or "12 ops, unsharded"
  std::string against;  // "the unsharded run", "outputs.npz"; "" when nothing was compared
  std::vector<TensorReport> outputs;
  std::vector<TensorReport> tensors;  // every other one, on request
  double tolerance = 0;               // on relative_error; with an element-wise one, 0
  bool elementwise = false;           // judged by Difference::outside
  double predicted_seconds = 0, measured_seconds = 0, reference_seconds = 0;
  int64_t peak_bytes = 0;  // on each device
  std::vector<TaskReport> tasks;
  std::vector<std::string> random_inputs;
  int64_t random_parameters = 0;
  std::vector<std::string> notes;

  double max_relative_error() const;
  bool Fails(const TensorReport& tensor) const;
  bool good() const;
};

std::string FormatRunReport(const RunReport& report);
std::string RunReportJson(const RunReport& report);

}  // namespace sbp
