// Which GPU each process takes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace sbp {

// What a process may use. Launchers may show each process of a machine all of its GPUs, or one of its own.
struct VisibleGpus {
  std::string host;
  std::vector<std::string> ids;  // that tell the GPUs of all machines apart, by ordinal

  // For the other processes; ids and names hold no line breaks.
  std::string ToText() const;
  static VisibleGpus FromText(const std::string& text);
};

// The ordinal of the GPU of process `rank`: in the order of their ranks each takes the first one it sees that fewer
// than `ranks_per_gpu` have taken. Error (kUsage), the same at every process of that machine: there are too few.
Result<int> ChooseGpu(std::span<const VisibleGpus> processes, int rank, int ranks_per_gpu);

}  // namespace sbp
