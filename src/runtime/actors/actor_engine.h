// The engine: runs an actor graph on threads. Each device has two, one per stream; there is no central scheduler: a
// stream runs what the tokens of its own device let it run, and devices meet in collectives alone. A stream runs one
// firing at a time; where one thread has nothing to do, the other goes on with its stream, so that tasks that follow
// each other on different streams cost no change of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/status.h"
#include "runtime/actors/actor_graph.h"
#include "runtime/actors/simulate.h"

namespace sbp {

// What firings do. Called from the threads of the devices: of one device at most one call per stream at a time, and
// each sees what the calls before it wrote; those for different devices at any time. A register's copy is micro_batch %
// copies.
class TaskRunner {
 public:
  virtual ~TaskRunner() = default;

  // Fills the input registers for a micro-batch; the copies are free.
  virtual Status Begin(int64_t device, uint32_t micro_batch) = 0;
  // `actor`: a task, or a halo (ActorGraph::task_of).
  virtual Status Run(int64_t device, uint32_t actor, uint32_t micro_batch) = 0;
  // Every task of the micro-batch has run: takes the outputs, whose copies are overwritten afterwards.
  virtual Status End(int64_t device, uint32_t micro_batch) = 0;

  // What was started is done. By one thread, when every firing has been made; where calls return before what they
  // started is done, whoever waits for the devices calls it.
  virtual Status Settle() { return OkStatus(); }

  // The run has failed: every call that waits for another device returns soon. From any thread, at most once.
  virtual void Abort(const Status& failure) = 0;
  // Has another process failed? Asked by streams that wait, some times a second, and when a call above has failed.
  virtual Status Poll(int64_t /*device*/) { return OkStatus(); }
};

struct EngineOptions {
  std::vector<int64_t> devices;  // that run here, as positions of the mesh
  // Give each device cores of its own where there are enough. Else threads run anywhere.
  bool pin_threads = true;
  // Called some times a second by the calling thread, with firings done and in all; where it was called, a last time
  // with all of them, however the run ended.
  std::function<void(uint64_t done, uint64_t total)> progress;
  // Asked likewise: true fails the run. Null: nobody stops it.
  std::function<bool()> cancelled;
};

struct EngineResult {
  // The failure of the first firing that failed, by (micro-batch, task, device) where several did, with the device and
  // the task in its message. All threads have ended.
  Status status;
  std::vector<Span> spans;  // of all firings that ended well, by device and stream, in time
  double seconds = 0;
};
EngineResult RunActors(const ActorGraph& graph, TaskRunner& runner, const EngineOptions& options);

}  // namespace sbp
