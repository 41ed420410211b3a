// RunJobs: independent pieces of work on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace sbp {

// Calls work(i) for each i below `count`, each once, from any thread. `threads` 0: one per core. `progress`, which may
// be null, is called before each. Where no more threads can be had, those that there are do it. What a piece throws is
// thrown once all have ended; no other piece is begun then, nor once `cancelled`, which may be null, says so.
template <typename Work>
void RunJobs(size_t count, int threads, const std::function<void(size_t done, size_t total)>& progress,
             const std::function<bool()>& cancelled, Work work) {
  std::atomic<size_t> next = 0;
  std::exception_ptr thrown;
  std::mutex mutex;
  const auto run = [&] {
    try {
      for (size_t i = next++; i < count; i = next++) {
        if (cancelled && cancelled()) return;
        if (progress) progress(i, count);
        work(i);
      }
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      if (!thrown) thrown = std::current_exception();
    }
  };
  if (threads <= 0) threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const auto most = static_cast<int>(std::min(static_cast<size_t>(threads), count));
  std::vector<std::thread> workers;
  workers.reserve(static_cast<size_t>(most));
  try {
    for (int t = 1; t < most; ++t) workers.emplace_back(run);
  } catch (const std::system_error&) {
  }
  run();
  for (std::thread& worker : workers) worker.join();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace sbp
