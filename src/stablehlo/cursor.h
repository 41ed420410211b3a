// A place in a text of MLIR: white space and comments skipped, words, numbers and strings read, errors by line and
// column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sbp::stablehlo {

// The value of a hexadecimal digit; -1: it is none.
int HexDigit(char c);

class Cursor {
 public:
  explicit Cursor(std::string_view whole) : whole_(whole), end_(whole.size()) {}
  // The part [start, end) of the whole text, in which errors count lines.
  Cursor(std::string_view whole, size_t start, size_t end) : whole_(whole), at_(start), end_(end) {}

  size_t offset() const { return at_; }
  std::string_view whole() const { return whole_; }
  // Behind white space and // comments.
  bool AtEnd();
  char Peek();  // '\0' at the end
  bool Is(std::string_view text);
  // Takes it if it stands here.
  bool Take(std::string_view text);
  Status Expect(std::string_view text, std::string_view what);

  // Letters, digits and "_", "." and "$"; "" if none stands here.
  std::string_view Word();
  // What may be a number, or true or false: "-1.0e+2", "0x7F800000"; "" if nothing like it stands here.
  std::string_view Number();
  // With a sign. Error: no number, or one of more than 64 bits.
  Result<int64_t> Integer();
  // "..." without quotes, escapes undone.
  Result<std::string> String();
  // What stands between an opening bracket, which stands here, and the one that closes it; brackets within strings do
  // not count.
  Result<Cursor> Balanced();
  std::string_view rest() const { return whole_.substr(at_, end_ - at_); }

  Status Error(std::string_view what) const { return ErrorAt(at_, what); }
  // "LINE:COL: WHAT".
  Status ErrorAt(size_t offset, std::string_view what) const;
  Status Unexpected(std::string_view expected);

 private:
  void Skip();

  std::string_view whole_;
  size_t at_ = 0, end_ = 0;
};

}  // namespace sbp::stablehlo
