// Numbers as text, and back: number_text.h, and a part of text.h.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/checked_math.h"
#include "base/number_text.h"
#include "base/text.h"

namespace sbp {
namespace {

template <typename Number>
std::optional<Number> ParseNumber(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::string WithDigits(double value, std::chars_format form, int digits) {
  constexpr int kMostDigits = 60;
  std::array<char, 400> buffer;  // a double has at most 309 digits before the point
  const auto result =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, form, std::min(digits, kMostDigits));
  return std::string(buffer.data(), result.ptr);
}

struct Unit {
  std::string_view name;
  double factor;
};

// Three significant digits in the largest unit that leaves at least 1: units ascend.
template <size_t N>
std::string FormatScaled(double value, const std::array<Unit, N>& units) {
  if (!std::isfinite(value)) return FormatDouble(value);
  if (value < 0) return "-" + FormatScaled(-value, units);
  size_t i = 0;
  // 999.5 rounds to four digits, so it belongs to the next unit.
  while (i + 1 < N && value / units[i].factor >= 999.5) ++i;
  const double scaled = value / units[i].factor;
  const int decimals = scaled >= 99.95 ? 0 : scaled >= 9.995 ? 1 : 2;
  return FormatFixed(scaled, decimals) + " " + std::string(units[i].name);
}

}  // namespace

std::string FormatGeneral(double value, int digits) { return WithDigits(value, std::chars_format::general, digits); }
std::string FormatFixed(double value, int decimals) { return WithDigits(value, std::chars_format::fixed, decimals); }
std::string FormatScientific(double value, int decimals) {
  return WithDigits(value, std::chars_format::scientific, decimals);
}

std::optional<int64_t> ParseInt(std::string_view text) { return ParseNumber<int64_t>(text); }
std::optional<double> ParseDouble(std::string_view text) { return ParseNumber<double>(text); }

std::optional<int64_t> ParseBytes(std::string_view text) {
  static constexpr std::array<Unit, 15> kUnits = {{{"", 1},
                                                   {"b", 1},
                                                   {"k", 1e3},
                                                   {"kb", 1e3},
                                                   {"m", 1e6},
                                                   {"mb", 1e6},
                                                   {"g", 1e9},
                                                   {"gb", 1e9},
                                                   {"t", 1e12},
                                                   {"tb", 1e12},
                                                   {"kib", 1024.0},
                                                   {"mib", 1048576.0},
                                                   {"gib", 1073741824.0},
                                                   {"tib", 1099511627776.0},
                                                   {"pb", 1e15}}};
  text = Trim(text);
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  std::string unit(Trim(text.substr(digits)));
  std::transform(unit.begin(), unit.end(), unit.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto row = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& u) { return u.name == unit; });
  if (row == kUnits.end()) return std::nullopt;
  // Whole numbers stay exact; only "1.5GB" goes through a double.
  if (const auto whole = ParseInt(text.substr(0, digits))) {
    return CheckedMul(*whole, static_cast<int64_t>(row->factor));
  }
  const auto number = ParseDouble(text.substr(0, digits));
  if (!number || *number * row->factor >= 9.2e18) return std::nullopt;
  return static_cast<int64_t>(std::llround(*number * row->factor));
}

std::optional<double> ParseSeconds(std::string_view text) {
  static constexpr std::array<Unit, 5> kUnits = {{{"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"s", 1}, {"", 1}}};
  text = Trim(text);
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    if (const auto number = ParseDouble(Trim(text.substr(0, text.size() - unit.name.size()))))
      return *number * unit.factor;
  }
  return std::nullopt;
}

std::string FormatDouble(double value) {
  std::array<char, 64> buffer;
  constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
  const bool whole = std::abs(value) <= kExactIntegers && value == std::floor(value);
  const auto result = whole ? std::to_chars(buffer.data(), buffer.data() + buffer.size(), static_cast<int64_t>(value))
                            : std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), result.ptr);
}

std::string FormatBytes(double bytes) {
  static constexpr std::array<Unit, 7> kUnits = {
      {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"PB", 1e15}, {"EB", 1e18}}};
  if (bytes >= 0 && bytes < 999.5 && bytes == std::floor(bytes)) return FormatDouble(bytes) + " B";
  return FormatScaled(bytes, kUnits);
}

std::string FormatSeconds(double seconds) {
  static constexpr std::array<Unit, 4> kUnits = {{{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}};
  if (std::abs(seconds) < 5e-12) return "0 s";  // less than is written: what rounding leaves of sums
  return FormatScaled(seconds, kUnits);
}

std::string FormatCount(int64_t value) {
  std::string digits = std::to_string(value);
  const std::string sign = value < 0 ? "-" : "";
  if (value < 0) digits.erase(0, 1);
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return sign + digits;
}

}  // namespace sbp
