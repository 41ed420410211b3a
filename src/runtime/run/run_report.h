// What a run found: numbers against a reference, seconds against the prediction. Printed as text or JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "runtime/actors/step_times.h"
#include "runtime/backends/backend.h"
#include "runtime/run/compare.h"

namespace sbp {

struct TensorReport {
  std::string name;
  TensorType type;  // as it came out
  bool compared = false;
  Difference difference;
  std::string problem;  // why it could not be compared: another shape, ...
  double allowed = 0;   // relative error that is rounding, where that is more than the tolerance
};

// One step of several.
struct StepReport {
  int64_t step = 0;  // from 1 on
  double loss = 0, reference_loss = 0;
  double error = 0;    // the largest relative error of an output
  std::string worst;   // whose
  int64_t failed = 0;  // outputs above what is tolerated
};

struct TaskReport {
  std::string name;         // of the op, or "all-reduce of T"
  std::string kind;         // op type or collective
  OpId op;                  // invalid: a boxing task
  int32_t transition = -1;  // of the plan
  int32_t step = -1;        // of the transition
  double bytes = 0;         // of a boxing task: T of the boxing table
  int64_t ranks = 1;        // ... and of a group
  double run_bytes = 0;     // ... and of the runs of its parts (RunBytes)
  double predicted_seconds = 0;
  double measured_seconds = 0;  // as TaskSeconds; of repeated steps the median
  double mean_seconds = 0;      // ... and their mean: Measured::mean
  int64_t workspace_bytes = 0;  // besides operands and results
  double spread = 0;            // of the repeats: Measured::spread
};

// Repeated steps, warm, against what the plan says of one.
struct StepComparison {
  uint32_t repeats = 0;
  double predicted_seconds = 0;  // of all micro-batches, with compute and collectives overlapped as the cluster says
  Measured measured;             // StepSeconds
  int64_t predicted_peak_bytes = 0;  // the plan's peak, workspace included
  std::string constants;             // where the cluster's come from
};

struct RunReport {
  std::string what;     // "8 tasks on 4 devices (cpu), mesh data=2,model=2" or "12 ops, unsharded"
  std::string against;  // "the unsharded run", "outputs.npz"; "" when nothing was compared
  std::vector<TensorReport> outputs;
  std::vector<TensorReport> tensors;  // every other one, on request
  double tolerance = 0;               // on relative_error; with an element-wise one, 0
  bool elementwise = false;           // judged by Difference::outside
  bool is_virtual = false;            // nothing was executed, nor measured
  // Predicted: with compute and collectives overlapped. Measured: with inputs and outputs.
  double predicted_seconds = 0, measured_seconds = 0, reference_seconds = 0;
  int64_t peak_bytes = 0;      // on each device: what the run itself asked for
  DeviceMemory device_memory;  // what the first device says itself
  std::optional<StepComparison> comparison;
  std::vector<StepReport> steps;  // of a run of several; `outputs` are those of the last
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
