#include "stablehlo/cursor.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/text.h"

namespace sbp::stablehlo {
namespace {

constexpr size_t kMaxNesting = 256;  // brackets within each other

bool IsWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$';
}

}  // namespace

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

void Cursor::Skip() {
  while (at_ < end_) {
    if (std::isspace(static_cast<unsigned char>(whole_[at_])) != 0) {
      ++at_;
    } else if (whole_.substr(at_, 2) == "//") {
      at_ = std::min(whole_.find('\n', at_), end_);
    } else {
      return;
    }
  }
}

bool Cursor::AtEnd() {
  Skip();
  return at_ >= end_;
}

char Cursor::Peek() { return AtEnd() ? '\0' : whole_[at_]; }

bool Cursor::Is(std::string_view text) {
  Skip();
  return rest().starts_with(text);
}

bool Cursor::Take(std::string_view text) {
  if (!Is(text)) return false;
  at_ += text.size();
  return true;
}

Status Cursor::Expect(std::string_view text, std::string_view what) {
  if (Take(text)) return OkStatus();
  return Unexpected(StrCat("\"", text, "\" ", what));
}

std::string_view Cursor::Word() {
  Skip();
  const size_t start = at_;
  while (at_ < end_ && IsWordCharacter(whole_[at_])) ++at_;
  return whole_.substr(start, at_ - start);
}

std::string_view Cursor::Number() {
  Skip();
  const size_t start = at_;
  if (at_ < end_ && whole_[at_] == '-') ++at_;
  const size_t digits = at_;
  while (at_ < end_) {
    const bool is_exponent = at_ > digits && (whole_[at_ - 1] == 'e' || whole_[at_ - 1] == 'E');
    const bool is_sign = is_exponent && (whole_[at_] == '+' || whole_[at_] == '-');
    if (!is_sign && !IsWordCharacter(whole_[at_])) break;
    ++at_;
  }
  return whole_.substr(start, at_ - start);
}

Result<int64_t> Cursor::Integer() {
  Skip();
  const size_t start = at_;
  if (at_ < end_ && whole_[at_] == '-') ++at_;
  while (at_ < end_ && std::isdigit(static_cast<unsigned char>(whole_[at_])) != 0) ++at_;
  const std::optional<int64_t> value = ParseInt(whole_.substr(start, at_ - start));
  if (!value) return ErrorAt(start, "expected a whole number of at most 64 bits");
  return *value;
}

Result<std::string> Cursor::String() {
  SBP_RETURN_IF_ERROR(Expect("\"", "that begins a text"));
  const size_t start = at_;
  std::string text;
  for (; at_ < end_ && whole_[at_] != '"'; ++at_) {
    if (whole_[at_] != '\\' || at_ + 1 >= end_) {
      text += whole_[at_];
      continue;
    }
    const char next = whole_[++at_];
    const int high = HexDigit(next);
    const int low = at_ + 1 < end_ ? HexDigit(whole_[at_ + 1]) : -1;
    if (high >= 0 && low >= 0) {
      text += static_cast<char>(high * 16 + low);
      ++at_;
    } else {
      text += next == 'n' ? '\n' : next == 't' ? '\t' : next;
    }
  }
  if (at_ >= end_) return ErrorAt(start, "the text has no closing \"");
  ++at_;
  return text;
}

Result<Cursor> Cursor::Balanced() {
  Skip();
  const size_t start = at_;
  std::string open;
  for (; at_ < end_; ++at_) {
    const char c = whole_[at_];
    if (c == '"') {
      SBP_RETURN_IF_ERROR(String().status());
      --at_;  // the loop steps over the quote
      continue;
    }
    if (c == '<' || c == '[' || c == '{' || c == '(') {
      open += c == '<' ? '>' : c == '[' ? ']' : c == '{' ? '}' : ')';
      if (open.size() > kMaxNesting) return Error("brackets are nested too deeply");
    } else if (c == '>' && at_ > start && whole_[at_ - 1] == '-') {
      continue;  // an arrow
    } else if (c == '>' || c == ']' || c == '}' || c == ')') {
      if (open.empty() || open.back() != c) return Error("a closing bracket that does not fit the opening one");
      open.pop_back();
      if (open.empty()) return Cursor(whole_, start + 1, at_++);
    }
    if (open.empty()) break;
  }
  return ErrorAt(start, open.empty() ? "expected an opening bracket" : "the bracket is never closed");
}

Status Cursor::ErrorAt(size_t offset, std::string_view what) const {
  const std::string_view before = whole_.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t start = before.rfind('\n');
  const size_t column = start == std::string_view::npos ? offset + 1 : offset - start;
  return BadInput(StrCat(line, ":", column, ": ", what));
}

Status Cursor::Unexpected(std::string_view expected) {
  if (AtEnd()) return Error(StrCat("expected ", expected, "; found the end"));
  const std::string_view found = rest().substr(0, std::min<size_t>(rest().find('\n'), 24));
  return Error(StrCat("expected ", expected, "; found ", Quote(found)));
}

}  // namespace sbp::stablehlo
