// Streams of a device run ahead of each other as far as the events that they wait for let them: here every order that
// two streams may take, by chance, is tried, and no firing may start before those whose tokens it took are done.
#include "runtime/backends/gpu/streamed_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "gpu/host/host.h"
#include "support/host_gpus.h"
#include "unit/plan/small_plan.h"
#include "unit/runtime/plans.h"

namespace sbp {
namespace {

// What was called on a stream, to be carried out later.
struct Call {
  enum class Kind { kRecord, kWait, kWork } kind;
  const void* event = nullptr;
  int64_t stamp = 0;  // of the record that counts when this call is made
  Firing firing;
};

// The calls of one device, in the order in which they were made.
struct CallLog {
  std::mutex mutex;
  std::map<const void*, int64_t> recorded;  // event -> stamp of its last record
  int64_t stamps = 0;
  std::vector<Call> calls[kNumStreams];
};

class LoggedStream : public gpu::Stream {
 public:
  LoggedStream(std::unique_ptr<gpu::Stream> stream, CallLog& log, int number)
      : stream_(std::move(stream)), log_(log), number_(number) {}

  Status Upload(const std::byte*, std::byte*, int64_t) override { return OkStatus(); }
  Status UploadNow(const std::byte*, std::byte*, int64_t) override { return OkStatus(); }
  Status Download(const std::byte*, std::byte*, int64_t) override { return OkStatus(); }
  Status Copy(const std::byte*, std::byte*, int64_t) override { return OkStatus(); }
  Status Zero(std::byte*, int64_t) override { return OkStatus(); }
  Result<std::unique_ptr<gpu::Event>> MakeEvent(bool timed) override { return stream_->MakeEvent(timed); }
  Status Record(gpu::Event& event) override {
    const std::lock_guard lock(log_.mutex);
    const int64_t stamp = ++log_.stamps;
    log_.recorded[&event] = stamp;
    log_.calls[number_].push_back({Call::Kind::kRecord, &event, stamp, {}});
    return stream_->Record(event);
  }
  Status Wait(gpu::Event& event) override {
    const std::lock_guard lock(log_.mutex);
    EXPECT_GT(log_.recorded.count(&event), 0U);
    log_.calls[number_].push_back({Call::Kind::kWait, &event, log_.recorded[&event], {}});
    return OkStatus();
  }
  Status Synchronize() override { return OkStatus(); }
  Result<double> SecondsBetween(gpu::Event& from, gpu::Event& to) override { return stream_->SecondsBetween(from, to); }
  Status Gemm(const gpu::GemmCall&) override { return OkStatus(); }
  Result<bool> Conv(const gpu::ConvCall&) override { return true; }
  Result<bool> Attention(const gpu::AttentionCall&) override { return true; }
  Result<bool> HasAttention(const gpu::AttentionCall&) override { return false; }
  Status BeginGraph() override { return OkStatus(); }
  Result<std::unique_ptr<gpu::Graph>> EndGraph() override { return std::make_unique<gpu::Graph>(); }
  Status Launch(gpu::Graph&) override { return OkStatus(); }
  Result<std::byte*> Scratch(int64_t bytes) override { return stream_->Scratch(bytes); }
  void ResetScratch() override {}
  uint32_t* error_word() const override { return stream_->error_word(); }
  void* native() const override { return nullptr; }

  void Work(Firing firing) {
    const std::lock_guard lock(log_.mutex);
    log_.calls[number_].push_back({Call::Kind::kWork, nullptr, 0, firing});
  }

 private:
  const std::unique_ptr<gpu::Stream> stream_;
  CallLog& log_;
  const int number_;
};

// Puts a mark of each firing into its stream.
class MarkingRunner : public TaskRunner {
 public:
  MarkingRunner(const ActorGraph& graph, std::vector<GpuDevice*> gpus) : graph_(graph), gpus_(std::move(gpus)) {}
  Status Begin(int64_t device, uint32_t mb) override { return Run(device, graph_.inputs_actor(), mb); }
  Status End(int64_t device, uint32_t mb) override { return Run(device, graph_.outputs_actor(), mb); }
  Status Run(int64_t device, uint32_t task, uint32_t mb) override {
    GpuDevice& gpu = *gpus_[device];
    const bool compute = graph_.actors[task].stream == Stream::kCompute;
    static_cast<LoggedStream&>(compute ? *gpu.compute : *gpu.communication).Work({mb, task});
    return fail_at_ == task ? RunFailed("boom") : OkStatus();
  }
  void Abort(const Status&) override {}
  void FailAt(uint32_t task) { fail_at_ = task; }

 private:
  const ActorGraph& graph_;
  const std::vector<GpuDevice*> gpus_;
  uint32_t fail_at_ = std::numeric_limits<uint32_t>::max();
};

// The firings of one device in an order that its two streams may take.
std::vector<Firing> SomeOrder(const CallLog& log, std::mt19937& random) {
  std::vector<Firing> order;
  size_t at[kNumStreams] = {};
  std::set<int64_t> passed;  // stamps
  while (at[0] < log.calls[0].size() || at[1] < log.calls[1].size()) {
    std::vector<int> able;
    for (int s = 0; s < kNumStreams; ++s) {
      if (at[s] == log.calls[s].size()) continue;
      const Call& call = log.calls[s][at[s]];
      if (call.kind != Call::Kind::kWait || passed.count(call.stamp) > 0) able.push_back(s);
    }
    if (able.empty()) {
      ADD_FAILURE() << "the streams wait for each other";
      return order;
    }
    // Long stretches of one stream, so that it gets far ahead.
    int s = able[random() % able.size()];
    for (size_t steps = random() % 40; steps-- > 0 && at[s] < log.calls[s].size();) {
      const Call& call = log.calls[s][at[s]];
      if (call.kind == Call::Kind::kWait && passed.count(call.stamp) == 0) break;
      if (call.kind == Call::Kind::kRecord) passed.insert(call.stamp);
      if (call.kind == Call::Kind::kWork) order.push_back(call.firing);
      ++at[s];
    }
  }
  return order;
}

void CheckOrder(const ActorGraph& graph, const std::vector<Firing>& order) {
  std::vector<std::vector<size_t>> place(graph.actors.size(), std::vector<size_t>(graph.micro_batches, 0));
  ASSERT_EQ(order.size(), graph.actors.size() * graph.micro_batches);
  for (size_t i = 0; i < order.size(); ++i) place[order[i].actor][order[i].micro_batch] = i;
  for (const ActorEdge& edge : graph.edges) {
    for (uint32_t mb = edge.tokens; mb < graph.micro_batches; ++mb) {
      ASSERT_LT(place[edge.from][mb - edge.tokens], place[edge.to][mb])
          << graph.actors[edge.from].name << " -> " << graph.actors[edge.to].name << " of micro-batch " << mb;
    }
  }
}

class Devices {
 public:
  explicit Devices(const Mesh& mesh) {
    for (int64_t d = 0; d < mesh.num_devices(); ++d) {
      auto gpu = std::make_unique<GpuDevice>();
      gpu->position = d;
      gpu->device = gpu::OpenHostDevice(static_cast<int>(d));
      CallLog& log = *logs.emplace_back(std::make_unique<CallLog>());
      gpu->compute = std::make_unique<LoggedStream>(gpu->device->MakeStream().value(), log, 0);
      gpu->communication = std::make_unique<LoggedStream>(gpu->device->MakeStream().value(), log, 1);
      gpu->news = news;
      gpus.push_back(gpu.get());
      positions.push_back(d);
      owned.push_back(std::move(gpu));
    }
  }
  std::shared_ptr<GpuNews> news = std::make_shared<GpuNews>(std::shared_ptr<Launch>(AloneLaunch()));
  std::vector<std::unique_ptr<CallLog>> logs;
  std::vector<std::unique_ptr<GpuDevice>> owned;
  std::vector<GpuDevice*> gpus;
  std::vector<int64_t> positions;
};

TEST(StreamedRun, NoFiringStartsBeforeItsTokensAreThere) {
  std::mt19937 random(1);
  size_t on_both = 0;
  for (const PlanCase& c : PlanCases()) {
    SCOPED_TRACE(c.name());
    const Plan plan = MakeTestPlan(c);
    for (const uint32_t micro_batches : {1U, 4U}) {
      const PhysicalPlan physical = MakePhysicalPlan(plan, {.micro_batches = micro_batches});
      const ActorGraph graph = MakeActorGraph(plan, physical).value();
      Devices setup(plan.mesh);
      MarkingRunner runner(graph, setup.gpus);
      StreamedRun streamed(graph, runner, setup.positions, setup.gpus);
      ASSERT_TRUE(streamed.Start().ok());
      const EngineResult result = RunActors(graph, streamed, {.devices = setup.positions});
      ASSERT_TRUE(result.status.ok()) << result.status.message();
      ASSERT_TRUE(streamed.Finish().ok());
      EXPECT_EQ(streamed.Spans().size(), plan.mesh.num_devices() * graph.actors.size() * micro_batches);
      for (const auto& log : setup.logs) {
        on_both += log->calls[1].size() > 1 ? 1 : 0;
        for (int i = 0; i < 5; ++i) CheckOrder(graph, SomeOrder(*log, random));
      }
    }
  }
  EXPECT_GT(on_both, 10U);
}

// Events serve again once their firing is done and nobody will wait for it.
TEST(StreamedRun, TheHostDoesNotGetFarAhead) {
  const Plan plan = SmallPlan();
  const PhysicalPlan physical = MakePhysicalPlan(plan, {.micro_batches = 64});
  const ActorGraph graph = MakeActorGraph(plan, physical).value();
  Devices setup(plan.mesh);
  MarkingRunner runner(graph, setup.gpus);
  StreamedRun streamed(graph, runner, setup.positions, setup.gpus, 3);
  ASSERT_TRUE(streamed.Start().ok());
  const EngineResult result = RunActors(graph, streamed, {.devices = setup.positions});
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  ASSERT_TRUE(streamed.Finish().ok());
  EXPECT_EQ(streamed.Spans().size(), plan.mesh.num_devices() * graph.actors.size() * 64);
  for (const auto& log : setup.logs) EXPECT_LT(log->recorded.size(), 40U);  // of two a firing
}

TEST(StreamedRun, AFailureNamesTheFiring) {
  const Plan plan = SmallPlan();
  const PhysicalPlan physical = MakePhysicalPlan(plan, {.micro_batches = 2});
  const ActorGraph graph = MakeActorGraph(plan, physical).value();
  Devices setup(plan.mesh);
  MarkingRunner runner(graph, setup.gpus);
  runner.FailAt(1);
  StreamedRun streamed(graph, runner, setup.positions, setup.gpus);
  ASSERT_TRUE(streamed.Start().ok());
  const EngineResult result = RunActors(graph, streamed, {.devices = setup.positions});
  EXPECT_THAT(result.status.message(), ::testing::HasSubstr(graph.actors[1].name + " of micro-batch 0: boom"));
}

}  // namespace
}  // namespace sbp
