// A trace beside the plan.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "page/sections.h"
#include "page/trace.h"

namespace sbp {
namespace {

// A page holds the events of so many devices: all run the same, and a picture shows few side by side.
constexpr size_t kMaxTracedDevices = 8;

// Seconds of each op in a step: of all its events, the mean of the devices.
Json SecondsOfOps(const PlanTrace& trace, size_t num_ops) {
  std::vector<double> seconds(num_ops, 0);
  for (const TraceEvent& event : trace.events) {
    if (event.op.valid() && !event.communication) seconds[event.op.index()] += event.seconds / trace.devices;
  }
  return seconds;
}

Json SecondsOfTransitions(const PlanTrace& trace, size_t num_transitions) {
  std::vector<double> seconds(num_transitions, 0);
  for (const TraceEvent& event : trace.events) {
    if (event.transition >= 0) seconds[static_cast<size_t>(event.transition)] += event.seconds / trace.devices;
  }
  return seconds;
}

}  // namespace

Json TraceSection(const PageFacts& facts) {
  if (facts.options.trace == nullptr) return nullptr;
  const PlanTrace& trace = *facts.options.trace;
  Json device = Json::array(), micro_batch = Json::array(), stream = Json::array(), op = Json::array(),
       transition = Json::array(), step = Json::array(), start = Json::array(), end = Json::array();
  std::vector<uint32_t> shown;
  for (const TraceEvent& event : trace.events) {  // by device
    if (shown.empty() || shown.back() != event.device) {
      if (shown.size() == kMaxTracedDevices) break;
      shown.push_back(event.device);
    }
    device.push_back(event.device);
    micro_batch.push_back(event.micro_batch);
    stream.push_back(event.communication ? 1 : 0);
    op.push_back(event.op.valid() ? int64_t{event.op.value} : -1);
    transition.push_back(event.transition);
    step.push_back(event.step);
    start.push_back(event.start);
    end.push_back(event.start + event.seconds);
  }
  Json events = {{"device", std::move(device)}, {"micro_batch", std::move(micro_batch)},
                 {"stream", std::move(stream)}, {"op", std::move(op)},
                 {"step", std::move(step)},     {"transition", std::move(transition)},
                 {"start", std::move(start)},   {"end", std::move(end)}};
  return {{"path", trace.path},
          {"kind", trace.kind},
          {"devices", trace.devices},
          {"shown", shown},
          {"micro_batches", trace.micro_batches},
          {"seconds", trace.seconds},
          {"op_seconds", SecondsOfOps(trace, facts.plan.graph.ops.size())},
          {"transition_seconds", SecondsOfTransitions(trace, facts.plan.transitions.size())},
          {"events", std::move(events)}};
}

}  // namespace sbp
