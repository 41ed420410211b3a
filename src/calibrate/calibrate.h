// Calibrate: measures a machine through a backend, by running plans on it, and says what it found as a cluster.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "calibrate/cases.h"
#include "calibrate/fit.h"
#include "graph/graph.h"
#include "rule/rule_set.h"
#include "runtime/backends/backend.h"
#include "runtime/run/tensor_store.h"

namespace sbp {

// A model of the user whose ops are measured as they are.
struct CalibrationModel {
  Graph graph;  // resolved
  DataReader reader;
};

// How many hosts they are, given that of each rank. Error (kUsage): ranks that do not fill one host after the other,
// or not with equally many, which a cluster cannot say.
Result<int64_t> CountNodes(const std::vector<std::string>& hosts);

struct CalibrationRequest {
  int64_t devices = 1;
  int64_t nodes = 1;  // that hold equally many of them
  std::string name, description;
  std::string source;       // of every constant: machine, date, versions
  double memory_bytes = 0;  // of one device
  std::vector<CalibrationModel> models;
  bool built_in = true;   // the ops of rules/calibration.txt too
  CaseLimits limits;      // of these
  double most_bytes = 0;  // of a tensor that is boxed
  // Everything is measured in so many rounds, one after the other, with so many warm steps in all of them together: a
  // machine that was slow for some seconds does not spoil the medians.
  uint32_t rounds = 3, repeats = 10;
  uint64_t seed = 0;
  const RuleSet* rules = nullptr;
  std::function<void(std::string_view what, size_t done, size_t total)> progress;  // may be null
  std::function<bool()> cancelled;                                                 // asked before each; may be null
};

// Limits and most_bytes: sizes that take some tens of milliseconds, quickly some hundreds of microseconds.
void SetSizes(bool gpus, bool quickly, CalibrationRequest& request);

// Called by all processes of the backend; one that does not lead gets an empty fit. What is run: each built-in case
// replicated on all devices (so that they share memory and caches as in a step); each model by every strategy, with
// placeholders and again with the constants found so far, and with parameters split at random, so that its ops and
// collectives are measured as plans use them; a tensor of each size through every kind of boxing along each axis of the
// meshes devices, and a x devices/a for each divisor a; convolutions that need rows of their neighbours, and that do
// not; products beside an all-reduce. Times are those of warm steps: ops count by their mean, collectives by their
// median (Measured). Errors: of planning and running, with the case.
Result<Fit> Calibrate(Backend& backend, const CalibrationRequest& request);

}  // namespace sbp
