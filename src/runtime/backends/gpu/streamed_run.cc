#include "runtime/backends/gpu/streamed_run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>

#include "base/status.h"
#include "base/text.h"
#include "gpu/gpu.h"
#include "runtime/actors/actor_graph.h"
#include "runtime/actors/simulate.h"

namespace sbp {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

// A firing in its stream, between two events.
struct StreamedRun::Record {
  Firing firing;
  std::unique_ptr<gpu::Event> start, end;
  uint32_t tokens = 0;  // given to the other stream and not yet taken
  bool done = false;
};

struct StreamedRun::Device {
  int64_t position = 0;
  GpuDevice* gpu = nullptr;
  std::array<double, kNumStreams> origin_seconds{};  // of the origins, since Start
  std::array<std::unique_ptr<gpu::Event>, kNumStreams> origins;
  // Touched by whoever runs the stream.
  std::array<std::deque<Record*>, kNumStreams> pending;
  std::array<std::vector<Span>, kNumStreams> spans;

  std::mutex mutex;  // of what follows
  std::deque<Record> records;
  std::vector<Record*> free;
  std::vector<std::deque<Record*>> tokens;  // per edge of the graph: in the order in which they were given
  std::vector<uint32_t> taken;              // per edge
};

StreamedRun::StreamedRun(const ActorGraph& graph, TaskRunner& runner, std::vector<int64_t> positions,
                         std::vector<GpuDevice*> gpus, size_t most_ahead)
    : graph_(graph), runner_(runner), most_ahead_(most_ahead), in_(graph.actors.size()), out_(graph.actors.size()) {
  for (uint32_t e = 0; e < graph.edges.size(); ++e) {
    const ActorEdge& edge = graph.edges[e];
    if (graph.actors[edge.from].stream == graph.actors[edge.to].stream) continue;
    out_[edge.from].push_back(e);
    in_[edge.to].push_back(e);
  }
  for (size_t d = 0; d < positions.size(); ++d) {
    auto device = std::make_unique<Device>();
    device->position = positions[d];
    device->gpu = gpus[d];
    device->tokens.resize(graph.edges.size());
    device->taken.assign(graph.edges.size(), 0);
    devices_.push_back(std::move(device));
  }
}

StreamedRun::~StreamedRun() = default;

gpu::Stream& StreamedRun::StreamOf(Device& device, Stream stream) const {
  return stream == Stream::kCompute ? *device.gpu->compute : *device.gpu->communication;
}

Status StreamedRun::Start() {
  const Clock::time_point start = Clock::now();
  for (const std::unique_ptr<Device>& device : devices_) {
    SBP_RETURN_IF_ERROR(device->gpu->device->Use());
    // Events for all firings, or for as many as are under way at once: to make one takes longer than to record it.
    const size_t records = std::min(graph_.order.size(), kNumStreams * most_ahead_);
    while (device->records.size() < records) SBP_RETURN_IF_ERROR(AddRecord(*device));
    for (const Stream s : {Stream::kCompute, Stream::kCommunication}) {
      std::unique_ptr<gpu::Event>& origin = device->origins[static_cast<size_t>(s)];
      SBP_ASSIGN_OR_RETURN(origin, StreamOf(*device, s).MakeEvent(true));
      SBP_RETURN_IF_ERROR(StreamOf(*device, s).Record(*origin));
      SBP_RETURN_IF_ERROR(device->gpu->Await(*origin));
      device->origin_seconds[static_cast<size_t>(s)] = std::chrono::duration<double>(Clock::now() - start).count();
    }
  }
  return OkStatus();
}

Status StreamedRun::Begin(int64_t device, uint32_t micro_batch) {
  return Fire(device, {micro_batch, graph_.inputs_actor()}, [&] { return runner_.Begin(device, micro_batch); });
}
Status StreamedRun::Run(int64_t device, uint32_t task, uint32_t micro_batch) {
  return Fire(device, {micro_batch, task}, [&] { return runner_.Run(device, task, micro_batch); });
}
Status StreamedRun::End(int64_t device, uint32_t micro_batch) {
  return Fire(device, {micro_batch, graph_.outputs_actor()}, [&] { return runner_.End(device, micro_batch); });
}

template <typename F>
Status StreamedRun::Fire(int64_t position, Firing firing, const F& work) {
  const auto at = std::find_if(devices_.begin(), devices_.end(),
                               [&](const std::unique_ptr<Device>& d) { return d->position == position; });
  Device& device = **at;
  device.gpu->news->Alive();
  SBP_RETURN_IF_ERROR(device.gpu->device->Use());
  const Stream stream = graph_.actors[firing.actor].stream;
  std::deque<Record*>& pending = device.pending[static_cast<size_t>(stream)];
  if (pending.size() >= most_ahead_) SBP_RETURN_IF_ERROR(Harvest(device, stream));
  SBP_RETURN_IF_ERROR(TakeTokens(device, firing));
  SBP_ASSIGN_OR_RETURN(Record* const record, NewRecord(device));
  record->firing = firing;
  SBP_RETURN_IF_ERROR(StreamOf(device, stream).Record(*record->start));
  SBP_RETURN_IF_ERROR(work());
  SBP_RETURN_IF_ERROR(StreamOf(device, stream).Record(*record->end));
  pending.push_back(record);
  return GiveTokens(device, record);
}

// An edge's first tokens are nobody's: there is nothing to wait for. A wait is a call that may take as long as the
// stream's queue is full: the other stream's thread must not wait for it too.
Status StreamedRun::TakeTokens(Device& device, Firing firing) {
  if (in_[firing.actor].empty()) return OkStatus();
  std::vector<Record*> given, awaited;
  {
    const std::lock_guard lock(device.mutex);
    for (const uint32_t e : in_[firing.actor]) {
      if (device.taken[e]++ < graph_.edges[e].tokens) continue;
      if (device.tokens[e].empty()) {
        return Defect(StrCat(graph_.actors[firing.actor].name, " fires without a token"));
      }
      given.push_back(device.tokens[e].front());
      device.tokens[e].pop_front();
      if (!given.back()->done) awaited.push_back(given.back());
    }
  }
  gpu::Stream& stream = StreamOf(device, graph_.actors[firing.actor].stream);
  for (Record* const record : awaited) SBP_RETURN_IF_ERROR(stream.Wait(*record->end));
  const std::lock_guard lock(device.mutex);
  for (Record* const record : given) {
    --record->tokens;
    Recycle(device, record);
  }
  return OkStatus();
}

Status StreamedRun::GiveTokens(Device& device, Record* record) {
  if (out_[record->firing.actor].empty()) return OkStatus();
  const std::lock_guard lock(device.mutex);
  for (const uint32_t e : out_[record->firing.actor]) {
    device.tokens[e].push_back(record);
    ++record->tokens;
  }
  return OkStatus();
}

Result<StreamedRun::Record*> StreamedRun::NewRecord(Device& device) {
  const std::lock_guard lock(device.mutex);
  if (device.free.empty()) SBP_RETURN_IF_ERROR(AddRecord(device));
  Record* const record = device.free.back();
  device.free.pop_back();
  record->done = false;
  return record;
}

Status StreamedRun::AddRecord(Device& device) {
  Record& record = device.records.emplace_back();
  SBP_ASSIGN_OR_RETURN(record.start, device.gpu->compute->MakeEvent(true));
  SBP_ASSIGN_OR_RETURN(record.end, device.gpu->compute->MakeEvent(true));
  device.free.push_back(&record);
  return OkStatus();
}

// Its events may serve another firing once nobody will look at them. Under the device's mutex.
void StreamedRun::Recycle(Device& device, Record* record) {
  if (record->done && record->tokens == 0) device.free.push_back(record);
}

// Waits for the stream's oldest firing and reads its times.
Status StreamedRun::Harvest(Device& device, Stream stream) {
  const auto s = static_cast<size_t>(stream);
  Record* const record = device.pending[s].front();
  SBP_RETURN_IF_ERROR(
      device.gpu->Await(*record->end)
          .WithContext(StrCat("device ", device.position, ", ", graph_.actors[record->firing.actor].name)));
  device.gpu->news->Alive();
  // Times since the origin get coarse as they grow; how long the firing took does not.
  gpu::Stream& own = StreamOf(device, stream);
  SBP_ASSIGN_OR_RETURN(const double since, own.SecondsBetween(*device.origins[s], *record->start));
  SBP_ASSIGN_OR_RETURN(const double took, own.SecondsBetween(*record->start, *record->end));
  const double start = device.origin_seconds[s] + since;
  device.spans[s].push_back({static_cast<uint32_t>(device.position), record->firing, start, start + took});
  device.pending[s].pop_front();
  const std::lock_guard lock(device.mutex);
  record->done = true;
  Recycle(device, record);
  return OkStatus();
}

Status StreamedRun::Finish() {
  for (const std::unique_ptr<Device>& device : devices_) {
    SBP_RETURN_IF_ERROR(device->gpu->device->Use());
    for (const Stream stream : {Stream::kCompute, Stream::kCommunication}) {
      while (!device->pending[static_cast<size_t>(stream)].empty()) SBP_RETURN_IF_ERROR(Harvest(*device, stream));
    }
  }
  return OkStatus();
}

std::vector<Span> StreamedRun::Spans() const {
  std::vector<Span> spans;
  for (const std::unique_ptr<Device>& device : devices_) {
    for (const std::vector<Span>& of_stream : device->spans) {
      spans.insert(spans.end(), of_stream.begin(), of_stream.end());
    }
  }
  return spans;
}

EngineResult RunStreamed(const ActorGraph& graph, TaskRunner& run, std::vector<GpuDevice*> gpus,
                         const EngineOptions& options) {
  const std::shared_ptr<GpuNews> news = gpus[0]->news;  // of all devices of this process
  constexpr std::chrono::seconds kLater{2};             // who waits for a device says more
  news->Expect(gpus[0]->timeout + kLater);
  StreamedRun streamed(graph, run, options.devices, std::move(gpus));
  EngineResult result;
  result.status = streamed.Start();
  if (result.status.ok()) result = RunActors(graph, streamed, options);
  if (result.status.ok()) {
    result.status = streamed.Finish();
    if (result.status.ok()) result.status = run.Settle();
    if (!result.status.ok()) run.Abort(result.status);
  }
  news->Rest();
  if (!result.status.ok()) {
    const Status elsewhere = run.Poll(options.devices[0]);  // what this process found is but its consequence
    if (!elsewhere.ok()) result.status = elsewhere;
  }
  result.spans = streamed.Spans();
  result.seconds = 0;
  for (const Span& span : result.spans) result.seconds = std::max(result.seconds, span.end);
  return result;
}

}  // namespace sbp
