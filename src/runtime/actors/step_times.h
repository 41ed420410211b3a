// StepTimes: how long a step and each of its tasks took, over repeats of the step.
#pragma once

#include <span>
#include <vector>

#include "runtime/actors/actor_graph.h"
#include "runtime/actors/simulate.h"
#include "sbp/mesh.h"

namespace sbp {

// Some measurements of one thing. All are 0 where there are none.
struct Measured {
  double median = 0;
  double spread = 0;  // from the first to the third quartile, relative to the median
  // The mean, with values above three medians cut to that. Of a sum of many things that now and then take longer, the
  // median is near the sum of their means, not of their medians.
  double mean = 0;
};
Measured Summarise(std::vector<double> values);

// Per task, the seconds of one micro-batch, their mean where there are several: of the slowest device; of a task that
// meets other devices (a collective) in the slowest group, there from when its last member came: waiting for others is
// not its own time.
std::vector<double> TaskSeconds(const ActorGraph& graph, const Mesh& mesh, std::span<const Span> spans);

// From the first start to the last end of a task, on any device: without filling inputs and taking outputs.
double StepSeconds(const ActorGraph& graph, std::span<const Span> spans);

}  // namespace sbp
