// Memory of gigabytes.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

namespace sbp {

inline constexpr uintptr_t kLargePage = uintptr_t{2} << 20;

// The whole large pages behind what `items` has reserved.
struct PageRange {
  uintptr_t begin = 0, end = 0;
};
template <typename Item>
PageRange PagesOf(const std::vector<Item>& items) {
  const auto first = reinterpret_cast<uintptr_t>(items.data());
  return {(first + kLargePage - 1) / kLargePage * kLargePage,
          (first + items.capacity() * sizeof(Item)) / kLargePage * kLargePage};
}

// Asks for large pages behind what `items` has reserved, before it is filled: a kernel takes longer to hand out a
// gigabyte in small pages than we to fill it. Of less than some megabytes, and where the kernel has no such pages,
// nothing happens.
template <typename Item>
void UseLargePages(std::vector<Item>& items) {
#ifdef MADV_HUGEPAGE
  const auto [begin, end] = PagesOf(items);
  if (end > begin + kLargePage) (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

// Has a thread get the pages behind a vector that is being filled, some way ahead of where it is, for as long as this
// lives: clearing them takes about as long as filling them. The vector must not grow beyond what it has reserved. No
// thread for less than some hundred megabytes.
class PagesAhead {
 public:
  template <typename Item>
  explicit PagesAhead(const std::vector<Item>& items) : pages_(PagesOf(items)), filled_(pages_.begin) {
    try {
      if (pages_.end > pages_.begin + kAhead) thread_ = std::thread([this] { Run(); });
    } catch (const std::system_error&) {  // it is only slower without
    }
  }
  ~PagesAhead() {
    ended_ = true;
    if (thread_.joinable()) thread_.join();
  }
  PagesAhead(const PagesAhead&) = delete;
  PagesAhead& operator=(const PagesAhead&) = delete;

  // So far it is filled.
  template <typename Item>
  void At(const std::vector<Item>& items) {
    filled_.store(reinterpret_cast<uintptr_t>(items.data() + items.size()), std::memory_order_relaxed);
  }

 private:
  static constexpr uintptr_t kAhead = 64 * kLargePage;

  void Run() {
#ifdef MADV_POPULATE_WRITE
    uintptr_t next = pages_.begin;
    while (!ended_ && next < pages_.end) {
      next = std::max(next, filled_.load(std::memory_order_relaxed) / kLargePage * kLargePage);
      if (next >= std::min(pages_.end, filled_.load(std::memory_order_relaxed) + kAhead)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      if (madvise(reinterpret_cast<void*>(next), kLargePage, MADV_POPULATE_WRITE) != 0) return;
      next += kLargePage;
    }
#endif
  }

  const PageRange pages_;
  std::atomic<uintptr_t> filled_;
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

}  // namespace sbp
