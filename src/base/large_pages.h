// Memory of gigabytes.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sbp {

// Asks for large pages behind what `items` has reserved, before it is filled: a kernel takes longer to hand out a
// gigabyte in small pages than we to fill it. Of less than some megabytes, and where the kernel has no such pages,
// nothing happens.
template <typename Item>
void UseLargePages(std::vector<Item>& items) {
#ifdef MADV_HUGEPAGE
  constexpr uintptr_t kPage = uintptr_t{2} << 20;
  const auto first = reinterpret_cast<uintptr_t>(items.data());
  const uintptr_t begin = (first + kPage - 1) / kPage * kPage;
  const uintptr_t end = (first + items.capacity() * sizeof(Item)) / kPage * kPage;
  if (end > begin + kPage) (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

}  // namespace sbp
