// Tasks of one device on its two streams, played in virtual time.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace sbp {

struct TimedTask {
  double seconds = 0;          // at full speed, >= 0
  bool communication = false;  // on the communication stream; else on the compute stream
  bool slows = false;          // while it runs, compute keeps only `overlap` of its speed
};

// Seconds from the start of the step.
struct TaskTime {
  double start = 0, end = 0;
};

// First ends, then starts: a pair (a, b) says that b starts when a has ended.
using TaskEdge = std::pair<uint32_t, uint32_t>;

// What tasks need besides a stream, such as memory: asked in the order in which they would start.
class Admission {
 public:
  virtual ~Admission() = default;
  // Is there room for the task now? If not, its stream waits until something has ended. Where both streams would wait
  // for ever, the first task that is ready starts all the same.
  virtual bool MayStart(uint32_t task) const = 0;
  virtual void Start(uint32_t task) = 0;
  virtual void End(uint32_t task) = 0;
};

// When each task runs, by the firing rule of the runtime's actors (runtime/actors/device_firings.h): a stream runs one
// task at a time; whenever it is idle it starts the first task, in the order given, whose predecessors have all ended.
// So communication goes ahead of compute as far as data (and what memory says, where `edges` do) let it, and what is
// wanted first goes first. While a task that slows runs, compute proceeds at `overlap` (0 to 1) of its speed: compute
// of c seconds beside a collective of k is done after c / overlap where that is at most k, else after c + (1 - overlap)
// k.
//
// `admission`, where there is one, holds tasks back; it outlives the call. `edges` have no cycle. Deterministic. Time:
// O((tasks + edges) log tasks).
std::vector<TaskTime> PlayTasks(std::span<const TimedTask> tasks, std::span<const TaskEdge> edges, double overlap,
                                Admission* admission = nullptr);

}  // namespace sbp
