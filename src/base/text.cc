#include "base/text.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/utf8.h"

namespace sbp {

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  for (;;) {
    const size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end == std::string_view::npos ? end : end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\f\v";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::string Quote(std::string_view text) {
  constexpr size_t kLongest = 400;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : CutAtCharacter(text, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 0xf];
    } else {
      out += c;
    }
  }
  if (text.size() > kLongest) out += "...";
  return out + '"';
}

bool GlobMatch(std::string_view pattern, std::string_view text) {
  const size_t first_star = pattern.find('*');
  if (first_star == std::string_view::npos) return pattern == text;
  const std::string_view prefix = pattern.substr(0, first_star);
  const std::string_view suffix = pattern.substr(pattern.rfind('*') + 1);
  if (text.size() < prefix.size() + suffix.size() || !text.starts_with(prefix) || !text.ends_with(suffix)) return false;
  text = text.substr(prefix.size(), text.size() - prefix.size() - suffix.size());
  // Between the outer stars the leftmost place of each piece is as good as any other, so nothing is tried twice.
  std::string_view middle = pattern.substr(first_star, pattern.size() - suffix.size() - first_star);
  for (std::string_view piece : Split(middle, '*')) {
    const size_t at = text.find(piece);
    if (at == std::string_view::npos) return false;
    text.remove_prefix(at + piece.size());
  }
  return true;
}

namespace {

// Edit distance (insert, delete, replace, swap of neighbours), ignoring case; anything above `limit` is limit + 1.
size_t EditDistance(std::string_view a, std::string_view b, size_t limit) {
  const size_t difference = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (difference > limit) return limit + 1;
  const auto same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  };
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, above);
    std::swap(above, row);
    row[0] = i;
    size_t least = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1)});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
      least = std::min(least, row[j]);
    }
    // A swap reaches back two rows and costs one, so the bound holds with one to spare.
    if (least > limit + 1) return limit + 1;
  }
  return std::min(row[b.size()], limit + 1);
}

}  // namespace

std::vector<std::string> NearestNames(std::string_view name, std::span<const std::string> known, size_t limit) {
  constexpr size_t kLongest = 256;  // longer names are no slips of the finger, and the distance is quadratic
  if (name.empty() || name.size() > kLongest) return {};
  std::vector<std::pair<size_t, size_t>> found;  // distance, index
  for (size_t i = 0; i < known.size(); ++i) {
    if (known[i].size() > kLongest) continue;
    const size_t allowed = std::max<size_t>(1, std::max(name.size(), known[i].size()) / 3);
    const size_t distance = EditDistance(name, known[i], allowed);
    if (distance <= allowed) found.emplace_back(distance, i);
  }
  const size_t count = std::min(limit, found.size());
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count), found.end());
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back(known[found[i].second]);
  return names;
}

std::string DidYouMean(std::string_view name, std::span<const std::string> known) {
  const std::vector<std::string> nearest = NearestNames(name, known);
  if (nearest.empty()) return "";
  std::string text = " (did you mean ";
  for (size_t i = 0; i < nearest.size(); ++i) {
    if (i > 0) text += i + 1 == nearest.size() ? " or " : ", ";
    text += Quote(nearest[i]);
  }
  return text + "?)";
}

}  // namespace sbp
