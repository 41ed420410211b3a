// A scanner of JSON text for files whose bulk is arrays of numbers: no tree is built, a caller walks the values in the
// order of the file. The first error sticks; its message begins with line:column.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sbp {

class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text) : text_(text) {}

  // Opens '{' or '['; then Next* steps to each member and returns false after the closing bracket or an error:
  //   for (bool more = s.Open('{'); more && s.NextKey(key);) { ...one value... }
  bool Open(char bracket);
  bool NextKey(std::string& key);
  bool NextElement();

  // The text of an array of plain numbers, brackets left off; the array is passed. Its content is not read yet.
  std::string_view NumberArray();
  // The numbers of such a text, which is part of the scanned text. False, and an error, unless all are integers of 64
  // bits (Integers) or numbers (Numbers).
  bool Integers(std::string_view array, std::vector<int64_t>& numbers);
  bool Numbers(std::string_view array, std::vector<double>& numbers);
  // Does a number of the text have a point or an exponent?
  static bool HasFractions(std::string_view array) { return array.find_first_of(".eE") != array.npos; }

  bool Integer(int64_t& number);
  bool String(std::string& value);
  bool Null();  // passes `null` if it stands here
  bool Skip();  // any value
  void End();   // only blanks may follow

  // Where a part of the scanned text begins.
  size_t OffsetOf(std::string_view part) const { return part.data() - text_.data(); }

  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }
  // Fails at `offset` of the text, the current place when left off. Returns false.
  bool Fail(std::string_view expected);
  bool FailAt(size_t offset, std::string_view expected);

 private:
  void Blanks();
  bool Expect(char c);
  // The end of the number that begins at `offset`, as JSON spells numbers; `offset` itself if there is none.
  size_t NumberEnd(size_t offset, size_t end) const;
  template <typename Read>
  bool EachNumber(std::string_view array, Read read);

  std::string_view text_;
  size_t at_ = 0;
  bool first_ = false;  // directly behind an opening bracket
  std::string brackets_;
  Status status_;
};

}  // namespace sbp
