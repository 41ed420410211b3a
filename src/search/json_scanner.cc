#include "search/json_scanner.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text.h"

namespace sbp {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

bool JsonScanner::FailAt(size_t offset, std::string_view expected) {
  if (!status_.ok()) return false;
  const std::string_view before = text_.substr(0, offset);
  const size_t line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t newline = before.rfind('\n');
  const size_t column = offset - (newline == before.npos ? 0 : newline + 1) + 1;
  const std::string found = offset >= text_.size() ? "the end of the file" : Quote(text_.substr(offset, 12));
  status_ = BadInput(StrCat(line, ":", column, ": expected ", expected, ", found ", found));
  return false;
}
bool JsonScanner::Fail(std::string_view expected) { return FailAt(at_, expected); }

void JsonScanner::Blanks() {
  while (at_ < text_.size() && IsBlank(text_[at_])) ++at_;
}

bool JsonScanner::Expect(char c) {
  Blanks();
  if (!ok()) return false;
  if (at_ >= text_.size() || text_[at_] != c) return Fail(StrCat("'", c, "'"));
  ++at_;
  return true;
}

bool JsonScanner::Open(char bracket) {
  if (!Expect(bracket)) return false;
  brackets_.push_back(bracket == '{' ? '}' : ']');
  first_ = true;
  return true;
}

bool JsonScanner::NextElement() {
  Blanks();
  if (!ok()) return false;
  const bool first = std::exchange(first_, false);
  if (at_ < text_.size() && text_[at_] == brackets_.back()) {
    brackets_.pop_back();
    ++at_;
    return false;
  }
  if (first) return true;
  if (at_ >= text_.size() || text_[at_] != ',') return Fail(StrCat("',' or '", brackets_.back(), "'"));
  ++at_;
  return true;
}

bool JsonScanner::NextKey(std::string& key) { return NextElement() && String(key) && Expect(':'); }

bool JsonScanner::String(std::string& value) {
  if (!Expect('"')) return false;
  value.clear();
  while (at_ < text_.size() && text_[at_] != '"') {
    if (static_cast<unsigned char>(text_[at_]) < 0x20) return Fail("a string without control characters");
    if (text_[at_] == '\\') value.push_back(text_[at_++]);  // kept as spelled: names are not interpreted
    if (at_ < text_.size()) value.push_back(text_[at_++]);
  }
  return Expect('"');
}

bool JsonScanner::Null() {
  Blanks();
  if (text_.substr(at_, 4) != "null") return false;
  at_ += 4;
  return true;
}

size_t JsonScanner::NumberEnd(size_t offset, size_t end) const {
  size_t at = offset;
  const auto digits = [&] {
    const size_t begin = at;
    while (at < end && IsDigit(text_[at])) ++at;
    return at > begin;
  };
  if (at < end && text_[at] == '-') ++at;
  if (at < end && text_[at] == '0') {
    ++at;
  } else if (!digits()) {
    return offset;
  }
  if (at < end && text_[at] == '.') {
    ++at;
    if (!digits()) return offset;
  }
  if (at < end && (text_[at] == 'e' || text_[at] == 'E')) {
    ++at;
    if (at < end && (text_[at] == '+' || text_[at] == '-')) ++at;
    if (!digits()) return offset;
  }
  return at;
}

std::string_view JsonScanner::NumberArray() {
  if (!Expect('[')) return {};
  const size_t end = text_.find(']', at_);
  if (end == text_.npos) {
    FailAt(text_.size(), "']'");
    return {};
  }
  const std::string_view array = text_.substr(at_, end - at_);
  at_ = end + 1;
  return array;
}

template <typename Read>
bool JsonScanner::EachNumber(std::string_view array, Read read) {
  size_t at = array.data() - text_.data();
  const size_t end = at + array.size();
  const auto blanks = [&] {
    while (at < end && IsBlank(text_[at])) ++at;
  };
  blanks();
  while (at < end) {
    const size_t number_end = NumberEnd(at, end);
    if (number_end == at) return FailAt(at, "a number");
    if (!read(at, number_end)) return false;
    at = number_end;
    blanks();
    if (at == end) break;
    if (text_[at] != ',') return FailAt(at, "',' or ']'");
    ++at;
    blanks();
    if (at == end) return FailAt(at, "a number");
  }
  return true;
}

bool JsonScanner::Integers(std::string_view array, std::vector<int64_t>& numbers) {
  numbers.clear();
  return EachNumber(array, [&](size_t begin, size_t end) {
    int64_t number = 0;
    const auto [stop, error] = std::from_chars(text_.data() + begin, text_.data() + end, number);
    if (error != std::errc() || stop != text_.data() + end) return FailAt(begin, "an integer of 64 bits");
    numbers.push_back(number);
    return true;
  });
}

bool JsonScanner::Numbers(std::string_view array, std::vector<double>& numbers) {
  numbers.clear();
  return EachNumber(array, [&](size_t begin, size_t end) {
    double number = 0;
    const auto [stop, error] = std::from_chars(text_.data() + begin, text_.data() + end, number);
    if (error != std::errc() || stop != text_.data() + end) return FailAt(begin, "a number that a double holds");
    numbers.push_back(number);
    return true;
  });
}

bool JsonScanner::Integer(int64_t& number) {
  Blanks();
  if (!ok()) return false;
  const size_t end = NumberEnd(at_, text_.size());
  const auto [stop, error] = std::from_chars(text_.data() + at_, text_.data() + end, number);
  if (end == at_ || error != std::errc() || stop != text_.data() + end) return Fail("an integer of 64 bits");
  at_ = end;
  return true;
}

bool JsonScanner::Skip() {
  const size_t depth = brackets_.size();
  std::string text;
  do {
    if (brackets_.size() > depth) {  // the next member, or the end of what was opened
      const bool object = brackets_.back() == '}';
      if (!(object ? NextKey(text) : NextElement())) {
        if (!ok()) return false;
        continue;
      }
    }
    Blanks();
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (c == '{' || c == '[') {
      Open(c);
    } else if (c == '"') {
      String(text);
    } else {
      for (const std::string_view word : {"true", "false", "null"}) {
        if (text_.substr(at_, word.size()) == word) {
          at_ += word.size();
          text = word;
          break;
        }
        text.clear();
      }
      if (text.empty()) {
        const size_t end = NumberEnd(at_, text_.size());
        if (end == at_) return Fail("a value");
        at_ = end;
      }
    }
    if (!ok()) return false;
  } while (brackets_.size() > depth);
  first_ = false;
  return true;
}

void JsonScanner::End() {
  Blanks();
  if (ok() && at_ < text_.size()) Fail("the end of the file");
}

}  // namespace sbp
