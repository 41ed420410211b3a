// RunJobs: independent pieces of work on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace sbp {

// Calls work(i) for each i below `count`, each once, from any thread. `threads` 0: one per core. `progress`, which may
// be null, is called before each.
template <typename Work>
void RunJobs(size_t count, int threads, const std::function<void(size_t done, size_t total)>& progress, Work work) {
  std::atomic<size_t> next = 0;
  const auto run = [&] {
    for (size_t i = next++; i < count; i = next++) {
      if (progress) progress(i, count);
      work(i);
    }
  };
  if (threads <= 0) threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::thread> workers;
  for (int t = 1; t < threads; ++t) workers.emplace_back(run);
  run();
  for (std::thread& worker : workers) worker.join();
}

}  // namespace sbp
