#include "base/hash.h"

namespace sbp {

std::string Fingerprint(std::string_view bytes) {
  // FNV-1a with 64 bits (Fowler, Noll, Vo).
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const unsigned char byte : bytes) {
    hash ^= byte;
    hash *= 0x100000001b3ULL;
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "fnv1a64:";
  for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(hash >> shift) & 0xf];
  return text;
}

}  // namespace sbp
