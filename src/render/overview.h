// Overview: what one wants to know first of a model of any size, few enough things for one screen. Plain data, free of
// any drawing format; overview_map.cc draws it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "cluster/collective_kind.h"
#include "graph/phases.h"
#include "plan/plan.h"
#include "render/facts.h"
#include "render/render.h"

namespace sbp {

// Of a pass through a part of the model: all copies of it, in one step.
struct OverviewWork {
  size_t ops = 0;
  double compute_seconds = 0;
  std::map<CollectiveKind, double> collective_seconds;  // for its operands
  Sharing sharing = Sharing::kUnknown;

  double seconds() const;
};

// A part of the model, in the order of the forward pass.
struct OverviewRow {
  std::string title;    // scope, within the frame that it stands in
  std::string detail;   // "14 ops: 4 MatMul, 3 Add, 7 other": of one copy
  size_t part_ops = 0;  // of one copy
  std::string path;     // whole scope, or the first and last op
  int64_t copies = 1;   // equal ones, drawn as this one; not those of its frame
  int32_t frame = -1;
  OverviewWork forward, backward;
  int64_t parameter_bytes = 0;  // on each device
  int64_t kept_bytes = 0;       // on each device, of the forward pass for the backward pass
};

// Rows that are repeated together.
struct OverviewFrame {
  std::string label;
  int64_t copies = 1;
  int32_t parent = -1;         // stands before it
  size_t first = 0, last = 0;  // rows
};

// What one row gives another.
struct OverviewFlow {
  size_t from = 0, to = 0;
  Phase phase = Phase::kForward;  // or kBackward
  std::string layout;             // of the largest tensor: "S(0)", "P(sum) → B" where it changes; "" without a plan
  double bytes = 0;               // of that tensor, whole
  size_t tensors = 0;             // those of folded copies once
  bool boxed = false;
  CollectiveKind collective = CollectiveKind::kAllGather;  // boxed: the longest step
};

struct OverviewCollective {
  CollectiveKind kind = CollectiveKind::kAllGather;
  std::string axis;
  int64_t count = 0;  // in one step
  double bytes = 0, seconds = 0;
};

struct Overview {
  std::vector<std::string> title;  // first line: the model's name
  bool training = false;
  bool bare = false;  // a graph without a plan: no times, no layouts
  std::vector<OverviewRow> rows;
  std::vector<OverviewFrame> frames;
  std::vector<OverviewFlow> flows;  // by (phase, from, to)
  OverviewWork optimizer;
  std::string states;         // "12 states, 2.1 MB on each device"
  double gradient_bytes = 0;  // to the optimizer, of the whole tensors
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> warnings;                     // of the plan
  std::vector<OverviewCollective> collectives;           // by time, then kind and axis; local steps left out
  std::vector<std::pair<std::string, int64_t>> memory;   // parts of the peak on the fullest device, bytes
  std::vector<std::pair<std::string, int64_t>> holders;  // the largest at the peak
  int64_t peak_bytes = 0, device_bytes = 0;              // device_bytes: 0 where it is not known
  double compute_seconds = 0, collective_seconds = 0;    // of the step
  std::vector<std::pair<std::string, size_t>> types;     // of ops, the commonest first
};

// Linear in the size of the plan. Error: an --expand pattern that matches no scope.
Result<Overview> MakeOverview(const Plan& plan, const RenderOptions& options);

// The parts that an overview has as rows, chosen by how long they take.
struct OverviewPart {
  std::vector<uint32_t> ops;  // of the first copy, of every frame around it
  std::string title, path;
  int64_t copies = 1;
  int32_t frame = -1;
};
struct OverviewParts {
  std::vector<OverviewPart> parts;    // in order
  std::vector<OverviewFrame> frames;  // outer ones first
  std::vector<uint32_t> stand_in;     // per op of the graph: itself, or its counterpart in the first copy
};
// `weights`: per op, seconds or any other size. Of a training step those of the forward pass.
Result<OverviewParts> ChooseParts(const Plan& plan, const std::vector<double>& weights,
                                  const std::vector<std::string>& expand);

}  // namespace sbp
