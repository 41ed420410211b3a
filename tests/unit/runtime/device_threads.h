// Runs the devices of a mesh as threads of a test.
#pragma once

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "base/status.h"

namespace sbp {

// body(device) on a thread each; their results by device.
inline std::vector<Status> OnDevices(int64_t devices, const std::function<Status(int64_t)>& body) {
  std::vector<Status> results(static_cast<size_t>(devices));
  std::vector<std::thread> threads;
  for (int64_t d = 0; d < devices; ++d) {
    threads.emplace_back([&, d] { results[static_cast<size_t>(d)] = body(d); });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

}  // namespace sbp
