#include "base/utf8.h"

namespace sbp {

std::string_view CutAtCharacter(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  constexpr size_t kLongestTail = 3;  // bytes of a character behind its first one
  const auto continues = [&](size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
  size_t end = most;
  while (end > 0 && most - end < kLongestTail && continues(end)) --end;
  return text.substr(0, continues(end) ? most : end);
}

}  // namespace sbp
