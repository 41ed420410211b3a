// Micro benchmarks of the runtime. The limit of an all-reduce is what memory allows: every rank's input must be read
// and every rank's output written once, as if each of the threads copied its own buffer (CopiesAtOnce).
#include <benchmark/benchmark.h>

#include <barrier>
#include <cstring>
#include <functional>
#include <thread>

#include "runtime/threads/thread_communicator.h"

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

}  // namespace
}  // namespace sbp
