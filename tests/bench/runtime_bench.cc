// Micro benchmarks of the runtime. The limit of an all-reduce is what memory allows: every rank's input must be read
// and every rank's output written once, as if each of the threads copied its own buffer (CopiesAtOnce).
#include <benchmark/benchmark.h>

#include <barrier>
#include <cstring>
#include <functional>
#include <thread>

#include "bench_plans.h"
#include "runtime/actors/actor_engine.h"
#include "runtime/backends/threads/thread_communicator.h"
#include "runtime/run/plan_run.h"
#include "support/host_gpus.h"

namespace sbp {
namespace {

constexpr int kRanks = 4;
constexpr int64_t kBytes = 64 << 20;

// Calls body(rank, source, target) on kRanks threads in each iteration, and counts the bytes of all of them.
void OnRanks(benchmark::State& state, const std::function<void(int, std::byte*, std::byte*)>& body) {
  std::vector<std::vector<std::byte>> sources(kRanks, std::vector<std::byte>(kBytes)), targets = sources;
  std::barrier start(kRanks + 1), end(kRanks + 1);
  bool more = true;
  std::vector<std::thread> threads;
  for (int r = 0; r < kRanks; ++r) {
    threads.emplace_back([&, r] {
      while (true) {
        start.arrive_and_wait();
        if (!more) return;
        body(r, sources[r].data(), targets[r].data());
        end.arrive_and_wait();
      }
    });
  }
  for (auto _ : state) {
    start.arrive_and_wait();
    end.arrive_and_wait();
  }
  more = false;
  start.arrive_and_wait();
  for (std::thread& thread : threads) thread.join();
  state.SetBytesProcessed(state.iterations() * kRanks * kBytes);
}

void CopiesAtOnce(benchmark::State& state) {
  OnRanks(state, [](int, std::byte* source, std::byte* target) { std::memcpy(target, source, kBytes); });
}
BENCHMARK(CopiesAtOnce)->UseRealTime()->Unit(benchmark::kMillisecond);

void ThreadAllReduce(benchmark::State& state) {
  std::vector<DeviceCommunicators> communicators = MakeThreadCommunicators(*ParseMesh("4"), {});
  OnRanks(state, [&](int rank, std::byte* source, std::byte* target) {
    const Shape shape = {kBytes / 4};
    const Status status = communicators[rank].all->AllReduce(ReduceKind::kSum, WholeView(DType::kF32, shape, source),
                                                             WholeView(DType::kF32, shape, target));
    if (!status.ok()) std::abort();
  });
}
BENCHMARK(ThreadAllReduce)->UseRealTime()->Unit(benchmark::kMillisecond);

// Many small ones: what a meeting of the ranks costs.
void SmallAllReduce(benchmark::State& state) {
  const auto ranks = state.range(0);
  std::vector<DeviceCommunicators> communicators = MakeThreadCommunicators(*ParseMesh(std::to_string(ranks)), {});
  constexpr int kCalls = 1000;
  for (auto _ : state) {
    std::vector<std::thread> threads;
    for (int64_t r = 0; r < ranks; ++r) {
      threads.emplace_back([&, r] {
        float value = 1;
        const TensorView view = WholeView(DType::kF32, {1}, reinterpret_cast<std::byte*>(&value));
        for (int i = 0; i < kCalls; ++i) {
          if (!communicators[r].all->AllReduce(ReduceKind::kMax, view, view).ok()) std::abort();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  state.SetItemsProcessed(state.iterations() * kCalls);
}
BENCHMARK(SmallAllReduce)->Arg(2)->Arg(4)->UseRealTime()->Unit(benchmark::kMillisecond);

// Does nothing: what remains is the engine.
class EmptyRunner : public TaskRunner {
 public:
  Status Begin(int64_t, uint32_t) override { return OkStatus(); }
  Status Run(int64_t, uint32_t, uint32_t) override { return OkStatus(); }
  Status End(int64_t, uint32_t) override { return OkStatus(); }
  void Abort(const Status&) override {}
};

// A chain of tasks, every `alternate`-th on the communication stream (0: none), on so many devices.
void EmptyTasks(benchmark::State& state) {
  constexpr uint32_t kTasks = 10'000;
  const int64_t devices = state.range(0), alternate = state.range(1);
  ActorGraph graph;
  graph.actors.resize(kTasks + 2);
  for (uint32_t a = 0; a < kTasks + 2; ++a) {
    if (alternate > 0 && a % alternate == 1 && a < kTasks) graph.actors[a].stream = Stream::kCommunication;
    graph.order.push_back({0, a});
    if (a > 0) graph.edges.push_back({a - 1, a});
  }
  EngineOptions options;
  for (int64_t d = 0; d < devices; ++d) options.devices.push_back(d);
  EmptyRunner runner;
  for (auto _ : state) {
    if (!RunActors(graph, runner, options).status.ok()) std::abort();
  }
  // Devices run at once: seconds per task and device.
  state.counters["s/task"] =
      benchmark::Counter(static_cast<double>(kTasks) * static_cast<double>(devices),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(EmptyTasks)
    ->ArgNames({"devices", "alternate"})
    ->Args({1, 0})
    ->Args({4, 0})
    ->Args({1, 10})
    ->Args({4, 10})
    ->Args({1, 2})
    ->Args({4, 2})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void TinyTasks(benchmark::State& state) {
  constexpr int kOps = 200;
  constexpr uint32_t kMicroBatches = 100;
  const RuleSet rules = *RuleSet::Builtin();
  const Plan plan = TinyPlan(rules, state.range(0) == 1 ? "1" : "2", kOps);
  TensorStore store(plan.graph, plan.graph, 0, DataReader());
  Result<std::unique_ptr<Backend>> backend = StartBackend("cpu");
  double seconds = 0;
  for (auto _ : state) {
    const Result<PlanRun> run =
        RunPlanOn(plan, rules, store, **backend, {.micro_batches = kMicroBatches, .reference = false});
    if (!run.ok()) std::abort();
    seconds += run->report.measured_seconds;
  }
  state.counters["s/task"] = seconds / (static_cast<double>(state.iterations()) * kOps * kMicroBatches);
}
// The host's share of a task on a GPU but for the driver: kernels that do nothing, on a device whose calls do nothing.
void TasksOnStreams(benchmark::State& state) {
  constexpr int kOps = 200;
  constexpr uint32_t kMicroBatches = 100;
  const KernelRow nothing{"Relu", TypeSet{DType::kF32}, KernelDevice::kCuda, [](KernelCall&) { return OkStatus(); }};
  GpuKernels kernels = HostKernels();
  kernels.rows = {&nothing, 1};
  const RuleSet rules = *RuleSet::Builtin();
  const Plan plan = TinyPlan(rules, "1", kOps);
  TensorStore store(plan.graph, plan.graph, 0, DataReader());
  double seconds = 0;
  for (auto _ : state) {
    const std::unique_ptr<Backend> backend = MakeHostBackend({.kernels = &kernels});
    const Result<PlanRun> run =
        RunPlanOn(plan, rules, store, *backend, {.micro_batches = kMicroBatches, .reference = false});
    if (!run.ok()) std::abort();
    seconds += run->report.measured_seconds;
  }
  state.counters["s/task"] = seconds / (static_cast<double>(state.iterations()) * kOps * kMicroBatches);
}
BENCHMARK(TasksOnStreams)->UseRealTime()->Unit(benchmark::kMillisecond);

BENCHMARK(TinyTasks)->ArgName("devices")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sbp
