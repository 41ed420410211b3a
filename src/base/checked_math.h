// Integer arithmetic that saturates instead of overflowing: sizes and byte counts come from untrusted files.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace sbp {

inline constexpr int64_t kInt64Max = std::numeric_limits<int64_t>::max();

// a * b, or nothing when it does not fit.
inline std::optional<int64_t> CheckedMul(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

inline std::optional<int64_t> CheckedAdd(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

// For values >= 0: kInt64Max stands for "infinite".
inline int64_t SaturatingMul(int64_t a, int64_t b) { return CheckedMul(a, b).value_or(kInt64Max); }
inline int64_t SaturatingAdd(int64_t a, int64_t b) { return CheckedAdd(a, b).value_or(kInt64Max); }

inline int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

}  // namespace sbp
