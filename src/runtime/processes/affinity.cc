#include "runtime/processes/affinity.h"

#include <cstdint>

#ifdef __linux__
#include <pthread.h>
#include <sched.h>
#endif

#include "sbp/shard_math.h"

namespace sbp {

std::vector<int> CoresOfDevice(const std::vector<int>& cores, size_t devices, size_t device) {
  if (cores.size() < devices) return {};
  const Range share = BalancedPart({0, static_cast<int64_t>(cores.size())}, static_cast<int64_t>(devices),
                                   static_cast<int64_t>(device));
  return {cores.begin() + share.begin, cores.begin() + share.end};
}

#ifdef __linux__

std::vector<int> AllowedCores() {
  std::vector<int> cores;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

void PinThread(const std::vector<int>& cores) {
  if (cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

#else

std::vector<int> AllowedCores() { return {}; }
void PinThread(const std::vector<int>& /*cores*/) {}

#endif

}  // namespace sbp
