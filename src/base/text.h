// Small text helpers: joining, parsing of numbers, human formats of bytes and seconds, and "did you mean".
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sbp {

// What StrCat makes of one part: texts, characters and whole numbers without a stream, which would take most of the
// time of naming a million ops.
template <typename Part>
void AppendTo(std::string& text, const Part& part) {
  if constexpr (std::is_convertible_v<const Part&, std::string_view>) {
    text += std::string_view(part);
  } else if constexpr (std::is_same_v<Part, char>) {
    text += part;
  } else if constexpr (std::is_integral_v<Part> &&
                       std::numeric_limits<Part>::digits >= std::numeric_limits<int>::digits) {
    std::array<char, 20> digits;  // of 64 bits with a sign
    text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), part).ptr);
  } else {
    std::ostringstream out;
    out << part;
    text += std::move(out).str();
  }
}

// Concatenates anything that has operator<<.
template <typename... Parts>
std::string StrCat(const Parts&... parts) {
  const auto size_of = [](const auto& part) -> size_t {
    if constexpr (std::is_convertible_v<decltype(part), std::string_view>) return std::string_view(part).size();
    return 8;  // a number, as a rule
  };
  std::string text;
  text.reserve((size_of(parts) + ... + 0));
  (AppendTo(text, parts), ...);
  return text;
}

template <typename Range>
std::string Join(const Range& parts, std::string_view separator) {
  std::string text;
  bool first = true;
  for (const auto& part : parts) {
    if (!first) text += separator;
    AppendTo(text, part);
    first = false;
  }
  return text;
}

std::vector<std::string_view> Split(std::string_view text, char separator);
std::string_view Trim(std::string_view text);
// Equal but for the case of ASCII letters.
bool EqualIgnoringCase(std::string_view a, std::string_view b);
// "name", with control characters escaped, in double quotes, cut after 400 characters: for names in messages only.
std::string Quote(std::string_view text);

// The whole text as a number, or nothing (also on overflow, trailing characters, empty text).
std::optional<int64_t> ParseInt(std::string_view text);
std::optional<double> ParseDouble(std::string_view text);
// "80GB" (10^9), "80GiB" (2^30), "512MB", "1024" -> bytes.
std::optional<int64_t> ParseBytes(std::string_view text);
// "0.8", "0.8s", "800ms", "800 us", "8e5ns" -> seconds.
std::optional<double> ParseSeconds(std::string_view text);

// The shortest decimal text that reads back as the same double; integers without a point.
std::string FormatDouble(double value);
// For people: "1.50 GB" (decimal units), "2.31 ms". Three significant digits.
std::string FormatBytes(double bytes);
std::string FormatSeconds(double seconds);
// 1234567 -> "1,234,567".
std::string FormatCount(int64_t value);

// Does `text` match `pattern`, in which '*' stands for any run of characters? Linear time (no backtracking blow-up).
bool GlobMatch(std::string_view pattern, std::string_view text);

// Up to `limit` of `known` nearest to `name` by edit distance (case ignored), nearest first; names further than a third
// of the length are left out. Ties in the order given.
std::vector<std::string> NearestNames(std::string_view name, std::span<const std::string> known, size_t limit = 3);
// " (did you mean \"a\" or \"b\"?)" or "".
std::string DidYouMean(std::string_view name, std::span<const std::string> known);

}  // namespace sbp
