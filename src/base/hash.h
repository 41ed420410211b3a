// Hash combination for keys of caches. Deterministic within a process; never written to a file, except Fingerprint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace sbp {

inline size_t HashCombine(size_t seed, size_t value) {
  // The 64-bit finaliser of splitmix64 (Steele et al. 2014): cheap and well mixed.
  uint64_t x = seed + 0x9e3779b97f4a7c15ULL + value;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<size_t>(x ^ (x >> 31));
}

template <typename T>
size_t HashOf(const T& value) {
  return std::hash<T>()(value);
}

template <typename Range>
size_t HashRange(size_t seed, const Range& range) {
  for (const auto& item : range) seed = HashCombine(seed, HashOf(item));
  return seed;
}

// "fnv1a64:0123456789abcdef" of the bytes: recorded in plans so that a changed model is noticed. Not cryptographic.
std::string Fingerprint(std::string_view bytes);

}  // namespace sbp
