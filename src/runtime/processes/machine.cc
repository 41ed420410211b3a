#include "runtime/processes/machine.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include "base/text.h"
#include "runtime/processes/affinity.h"

namespace sbp {
namespace {

// "model name : AMD EPYC 7B13"; other processors say other things, or nothing.
std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon != std::string::npos && Trim(std::string_view(line).substr(0, colon)) == "model name") {
      return std::string(Trim(std::string_view(line).substr(colon + 1)));
    }
  }
  return "unknown processor";
}

}  // namespace

int64_t NumCores() { return std::max<int64_t>(1, static_cast<int64_t>(AllowedCores().size())); }

std::string HostName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "unknown";
  return name.data();
}

Machine ThisHost(int64_t devices) {
  const int64_t cores = NumCores();
  Machine machine;
  machine.description =
      StrCat("host ", HostName(), ", ", ProcessorName(), " (", cores, cores == 1 ? " core)" : " cores)");
  const int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) machine.memory_bytes = pages * page / std::max<int64_t>(1, devices);
  return machine;
}

}  // namespace sbp
