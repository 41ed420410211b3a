// The tasks of a step: what each takes, on which stream, and what it waits for.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/physical_plan.h"
#include "plan/plan.h"
#include "schedule/play.h"

namespace sbp {

// Of one device. One task more than ops and boxing steps stands last, for the filling of inputs.
struct StepTasks {
  std::vector<uint32_t> ops;                       // per op: its task
  std::vector<std::vector<uint32_t>> transitions;  // per transition: the tasks of its steps
  std::vector<TimedTask> tasks;
  std::vector<TaskEdge> edges;
};

// `physical`, of one micro-batch: the numbers are those of its tasks, and they wait for memory as its offsets say.
// nullptr: the numbers are positions of OrderOfStep (memory/memory.h), and memory is free (schedule.h says what boxing
// of weights waits for). The plan must be complete.
StepTasks TasksOfStep(const Plan& plan, const PhysicalPlan* physical = nullptr);

}  // namespace sbp
