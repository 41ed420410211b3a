#include "io/utf8.h"

#include <algorithm>
#include <cstdint>

namespace sbp {
namespace {

// The length of the well-formed sequence at the start of `bytes` (Unicode, table 3-7), or 0.
size_t SequenceLength(std::string_view bytes) {
  const auto at = [&](size_t i) { return i < bytes.size() ? static_cast<uint8_t>(bytes[i]) : 0; };
  const auto follows = [&](size_t i, int low = 0x80, int high = 0xbf) { return at(i) >= low && at(i) <= high; };
  const int lead = at(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return follows(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    return follows(1, lead == 0xe0 ? 0xa0 : 0x80, lead == 0xed ? 0x9f : 0xbf) && follows(2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    return follows(1, lead == 0xf0 ? 0x90 : 0x80, lead == 0xf4 ? 0x8f : 0xbf) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

bool IsUtf8(std::string_view bytes) {
  char any = 0;  // without a way out of the loop, so that it goes many bytes at a time
  for (const char c : bytes) any = static_cast<char>(any | c);
  if (static_cast<uint8_t>(any) < 0x80) return true;
  while (!bytes.empty()) {
    const size_t length = SequenceLength(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::string ToUtf8(std::string_view bytes) {
  if (IsUtf8(bytes)) return std::string(bytes);
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  while (!bytes.empty()) {
    const size_t length = SequenceLength(bytes);
    if (length > 0) {
      text += bytes.substr(0, length);
    } else {
      const auto byte = static_cast<uint8_t>(bytes[0]);
      text += "\\x";
      text += kHex[byte >> 4];
      text += kHex[byte & 15];
    }
    bytes.remove_prefix(std::max<size_t>(length, 1));
  }
  return text;
}

}  // namespace sbp
