// Tokens of a rules file, and the cursor that the parsers share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "rule/syntax.h"

namespace sbp {

enum class TokenKind : uint8_t { kName, kInteger, kFloat, kString, kPunctuation, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;  // of a string: without quotes, escapes not yet resolved
  int line = 1;
  int column = 1;
  bool first = false;  // the first token of its line
};

// Splits `text`; the last token is kEnd. Errors: a character that starts no token, a string without its end.
Result<std::vector<Token>> Tokenize(std::string_view text, std::string_view file);

// "name \"foo\"", "\",\"", "the end of the line".
std::string DescribeToken(const Token& token);

// A position in the tokens. An item (a `rule` line and the like) ends before the first token of a later line that is
// not indented further than the item's own first word; beyond that point the cursor shows an end token.
class TokenCursor {
 public:
  TokenCursor(std::vector<Token> tokens, std::string file);

  const Token& Peek(size_t ahead = 0) const;
  Token Next();
  bool AtEnd() const { return Peek().kind == TokenKind::kEnd; }
  bool Is(std::string_view punctuation_or_word) const;
  bool Accept(std::string_view punctuation_or_word);
  // The error begins with the place: "file:3:7: expected ... , found ...".
  Status Expect(std::string_view punctuation_or_word, std::string_view context);
  Result<std::string> ExpectName(std::string_view what);
  Status Unexpected(std::string_view expected) const;
  Status Unexpected(std::string_view expected, std::span<const std::string> known) const;
  Status ErrorAt(const SourcePosition& at, std::string_view message) const;
  SourcePosition Here() const;

  // From here on, only tokens of the item that starts at the present token are seen; LeaveItem lifts that. Items nest.
  void EnterItem();
  void LeaveItem();
  // The text of tokens [from, present), each run of blanks and line ends as one blank; with `keep_lines` as the file
  // has them, without comments.
  size_t index() const { return index_; }
  std::string TextSince(size_t from, bool keep_lines = false) const;

 private:
  std::vector<Token> tokens_;
  std::string file_;
  size_t index_ = 0;
  size_t limit_;                                 // tokens from here on are hidden
  Token end_;                                    // what Peek shows at the limit
  std::vector<std::pair<size_t, Token>> outer_;  // limit and end of the items around the present one
};

}  // namespace sbp
