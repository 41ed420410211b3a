// The schedule of a step that accumulates gradients, with each of its micro-batches played on its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "schedule/play.h"

namespace sbp {

// A task of a step: an op, or a step of a transition.
struct PlayedTask {
  int64_t op = -1, transition = -1, step = -1;  // -1: none
  uint32_t part = 0;                            // index into MicroBatches::counts
  TaskTime time;
};

struct MicroBatches {
  // How many micro-batches each part stands for: one, but for one in the middle where there are many.
  std::vector<int64_t> counts;
  std::vector<PlayedTask> tasks;  // that take any time; part by part
  double seconds = 0;             // of the step
};

// The tasks of MakeSchedule (schedule.h, without memory), in each micro-batch that runs them: one micro-batch after the
// other, what runs once a step after the last one, or before all where a micro-batch needs it. What waits for
// nothing in its own micro-batch waits for the compute of the one before, whose memory it may need. At most `most`
// tasks are made: beyond, as many micro-batches in the middle are played as one as that takes. Nothing (no parts) of a
// plan without micro-batches, and where three parts are too many. The plan must be complete.
MicroBatches PlayMicroBatches(const Plan& plan, size_t most);

}  // namespace sbp
