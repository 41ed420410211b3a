// StreamedRun: fires tasks on the streams of GPUs. The engine (actor_engine.h) passes a token as soon as the work of a
// firing is in its stream, so that the host never waits between tasks; here a firing that takes a token from the other
// stream lets its own stream wait for the very firing that gave it, whatever kind the edge is (data, back-pressure,
// arena, after). What runs when is read from events around every firing, afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "runtime/actors/actor_engine.h"
#include "runtime/actors/actor_graph.h"
#include "runtime/actors/simulate.h"
#include "runtime/backends/gpu/gpu_device.h"

namespace sbp {

class StreamedRun : public TaskRunner {
 public:
  // The host gets so many firings ahead of a stream at most: more would only take memory for events, and fill the
  // queues of the device, whose calls then wait while collectives do.
  static constexpr size_t kMostAhead = 64;

  // `runner`: what firings do; its calls return when their work is in the actor's stream. `positions` and `gpus` go
  // together. All outlive this.
  StreamedRun(const ActorGraph& graph, TaskRunner& runner, std::vector<int64_t> positions, std::vector<GpuDevice*> gpus,
              size_t most_ahead = kMostAhead);
  ~StreamedRun() override;

  // Before the engine runs: from here on time is counted.
  Status Start();

  Status Begin(int64_t device, uint32_t micro_batch) override;
  Status Run(int64_t device, uint32_t task, uint32_t micro_batch) override;
  Status End(int64_t device, uint32_t micro_batch) override;
  void Abort(const Status& failure) override { runner_.Abort(failure); }
  Status Poll(int64_t device) override { return runner_.Poll(device); }

  // After the engine: waits for the devices. Error: what failed on one of them, with the device and the firing.
  Status Finish();
  // When each firing that is done ran on its device, by device and stream, in time.
  std::vector<Span> Spans() const;

 private:
  struct Record;
  struct Device;
  template <typename F>
  Status Fire(int64_t position, Firing firing, const F& work);
  Status TakeTokens(Device& device, Firing firing);
  Status GiveTokens(Device& device, Record* record);
  Result<Record*> NewRecord(Device& device);
  static Status AddRecord(Device& device);
  Status Harvest(Device& device, Stream stream);
  static void Recycle(Device& device, Record* record);
  gpu::Stream& StreamOf(Device& device, Stream stream) const;

  const ActorGraph& graph_;
  TaskRunner& runner_;
  const size_t most_ahead_;
  std::vector<std::vector<uint32_t>> in_, out_;  // per actor: the edges from and to the other stream
  std::vector<std::unique_ptr<Device>> devices_;
};

// RunActors on GPUs, one each of options.devices: all is done and settled when it returns, and spans are the devices'
// own.
EngineResult RunStreamed(const ActorGraph& graph, TaskRunner& runner, std::vector<GpuDevice*> gpus,
                         const EngineOptions& options);

}  // namespace sbp
