#include "runtime/backends/threads/stream_copy.h"

#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace sbp {

#ifdef __SSE2__

void StreamCopy(std::byte* target, const std::byte* source, size_t bytes) {
  constexpr size_t kLine = 64;
  const size_t head = (kLine - reinterpret_cast<uintptr_t>(target) % kLine) % kLine;
  if (bytes < head + kLine) {
    std::memcpy(target, source, bytes);
    return;
  }
  std::memcpy(target, source, head);
  size_t at = head;
  for (; at + kLine <= bytes; at += kLine) {
    const auto* from = reinterpret_cast<const __m128i*>(source + at);
    auto* to = reinterpret_cast<__m128i*>(target + at);
    for (int i = 0; i < 4; ++i) _mm_stream_si128(to + i, _mm_loadu_si128(from + i));
  }
  std::memcpy(target + at, source + at, bytes - at);
}

void StreamFence() { _mm_sfence(); }

#else

void StreamCopy(std::byte* target, const std::byte* source, size_t bytes) { std::memcpy(target, source, bytes); }

void StreamFence() {}

#endif

}  // namespace sbp
