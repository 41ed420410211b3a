// How much memory this process may still take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sbp {

// Bytes: the least of what the machine has available (/proc/meminfo) and what the control group of the process and each
// group above it leave (memory.max of version 2, memory.limit_in_bytes of version 1; page cache that can be dropped
// counts as free). Nothing where the system does not say. `root` stands before the paths of the system, for tests.
std::optional<int64_t> AvailableMemory(const std::string& root = "");

}  // namespace sbp
