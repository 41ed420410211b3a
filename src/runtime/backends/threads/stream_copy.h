// Copies past the caches: for results so large that they will have left the caches before anybody reads them. An
// ordinary store first reads the line that it overwrites; these do not, which saves a third of the memory traffic.
#pragma once

#include <cstddef>

namespace sbp {

// Like memcpy. Other threads see the bytes after StreamFence and a synchronisation as usual.
void StreamCopy(std::byte* target, const std::byte* source, size_t bytes);
void StreamFence();

}  // namespace sbp
