// The schedule of a step: when one device computes and when it communicates. All devices run the same.
#pragma once

#include <vector>

#include "plan/physical_plan.h"
#include "plan/plan.h"
#include "schedule/play.h"

namespace sbp {

// Seconds of a step. step = compute + slowed + exposed + idle.
struct ScheduleSummary {
  double step = 0;         // from the start of the first task to the end of the last
  double compute = 0;      // of ops and of boxing that moves nothing between devices, at full speed
  double collectives = 0;  // of boxing between devices
  double exposed = 0;      // of those, while nothing is computed
  double slowed = 0;       // that compute takes longer because collectives run beside it
  double idle = 0;         // neither computes nor communicates
};

struct Schedule {
  std::vector<TaskTime> ops;                       // per op
  std::vector<std::vector<TaskTime>> transitions;  // per transition: its steps
  std::vector<double> exposed;                     // per transition: seconds of its steps while nothing is computed
  ScheduleSummary summary;
};

// The step of the plan in the order of OrderOfStep (memory/memory.h), played by PlayTasks: an op waits for the
// producers of its operands or for the boxing that makes them, boxing for the producer or for the boxing that it starts
// from, for inputs and for states that are written over until these are filled, which takes no time. A gathered weight
// depends on nothing: it is fetched while earlier layers are computed, but not before the op has ended behind which it
// stands in the order (Transition::ahead_of), as its memory is counted from there on. What the backward pass makes of
// the forward pass alone, what it computes again above all, waits in the same way, or it would fill the forward pass
// with what was dropped to save memory. A gradient is reduced when it is there and nothing that stands before is to be
// sent. Compute beside collectives keeps Cluster::device.overlap of its
// speed.
//
// Where the plan has its physical part, of one micro-batch, tasks wait instead for those that use the memory that they
// overwrite, and the step is the one that the fake backend (runtime/actors/simulate.h) plays. What the graph runs in
// each of its micro-batches counts as one task of so many times the seconds. Linear in ops and transitions, but for
// logarithms. The plan must be complete.
Schedule MakeSchedule(const Plan& plan);
// The same with a physical part other than the plan's own; nullptr: without one.
Schedule MakeSchedule(const Plan& plan, const PhysicalPlan* physical);

}  // namespace sbp
