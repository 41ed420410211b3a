#include "rule/lexer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <tuple>

#include "base/text.h"

namespace sbp {
namespace {

bool IsLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Longest first, so that "..." is not read as three characters.
constexpr std::array<std::string_view, 30> kPunctuation = {"...", "..", "->", "||", "&&", "==", "!=", "<=", ">=", "(",
                                                           ")",   "[",  "]",  "{",  "}",  ",",  ";",  ":",  "=",  "*",
                                                           "?",   "!",  "|",  "<",  ">",  "+",  "-",  "/",  "%",  "@"};

class Lexer {
 public:
  Lexer(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  Result<std::vector<Token>> Run() {
    constexpr size_t kBytesPerToken = 4;  // or more, in the built-in rules
    tokens_.reserve(text_.size() / kBytesPerToken);
    while (true) {
      SkipBlanks();
      if (at_ >= text_.size()) break;
      SBP_RETURN_IF_ERROR(ReadToken());
    }
    tokens_.push_back({TokenKind::kEnd, {}, line_, Column(), true});
    return std::move(tokens_);
  }

 private:
  int Column() const { return static_cast<int>(at_ - line_start_) + 1; }

  void SkipBlanks() {
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == '\n') {
        ++line_;
        line_start_ = at_ + 1;
        first_ = true;
      } else if (c == '#') {
        while (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return;
      }
      ++at_;
    }
  }

  void Push(TokenKind kind, size_t begin, size_t end, size_t next) {
    at_ = begin;
    tokens_.push_back({kind, text_.substr(begin, end - begin), line_, Column(), first_});
    first_ = false;
    at_ = next;
  }

  Status ReadToken() {
    char c = text_[at_];
    if (IsLetter(c)) return ReadName();
    if (IsDigit(c)) return ReadNumber();
    if (c == '"') return ReadString();
    for (std::string_view p : kPunctuation) {
      if (p[0] == c && text_.substr(at_, p.size()) == p) {
        Push(TokenKind::kPunctuation, at_, at_ + p.size(), at_ + p.size());
        return OkStatus();
      }
    }
    return BadInput(StrCat(file_, ":", line_, ":", Column(), ": unexpected character ", Quote(text_.substr(at_, 1))));
  }

  // A '.' or '::' belongs to a name only where a letter or digit follows.
  Status ReadName() {
    size_t end = at_ + 1;
    while (end < text_.size()) {
      if (IsLetter(text_[end]) || IsDigit(text_[end])) {
        ++end;
      } else if (size_t dots = text_.substr(end, 2) == "::" ? 2
                               : text_[end] == '.'          ? 1
                                                            : 0;
                 dots > 0 && end + dots < text_.size() && (IsLetter(text_[end + dots]) || IsDigit(text_[end + dots]))) {
        end += dots;
      } else {
        break;
      }
    }
    Push(TokenKind::kName, at_, end, end);
    return OkStatus();
  }

  Status ReadNumber() {
    size_t end = at_;
    bool is_float = false;
    while (end < text_.size() && IsDigit(text_[end])) ++end;
    if (end + 1 < text_.size() && text_[end] == '.' && IsDigit(text_[end + 1])) {
      is_float = true;
      ++end;
      while (end < text_.size() && IsDigit(text_[end])) ++end;
    }
    if (size_t sign = end + 1; end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      if (sign < text_.size() && (text_[sign] == '+' || text_[sign] == '-')) ++sign;
      if (sign < text_.size() && IsDigit(text_[sign])) {
        is_float = true;
        end = sign;
        while (end < text_.size() && IsDigit(text_[end])) ++end;
      }
    }
    Push(is_float ? TokenKind::kFloat : TokenKind::kInteger, at_, end, end);
    return OkStatus();
  }

  Status ReadString() {
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != '"' && text_[end] != '\n') {
      end += text_[end] == '\\' && end + 1 < text_.size() && text_[end + 1] != '\n' ? 2 : 1;
    }
    if (end >= text_.size() || text_[end] != '"') {
      return BadInput(StrCat(file_, ":", line_, ":", Column(), ": this string has no closing \" on its line"));
    }
    int column = Column();
    Push(TokenKind::kString, at_ + 1, end, end + 1);
    tokens_.back().column = column;
    return OkStatus();
  }

  std::string_view text_, file_;
  std::vector<Token> tokens_;
  size_t at_ = 0, line_start_ = 0;
  int line_ = 1;
  bool first_ = true;
};

}  // namespace

Result<std::vector<Token>> Tokenize(std::string_view text, std::string_view file) { return Lexer(text, file).Run(); }

std::string DescribeToken(const Token& token) {
  switch (token.kind) {
    case TokenKind::kEnd:
      return "the end of the line";
    case TokenKind::kString:
      return StrCat("the string ", Quote(token.text));
    default:
      return Quote(token.text);
  }
}

std::string ToString(const SourcePosition& position) {
  return StrCat(position.file, ":", position.line, ":", position.column);
}

TokenCursor::TokenCursor(std::vector<Token> tokens, std::string file)
    : tokens_(std::move(tokens)), file_(std::move(file)), limit_(tokens_.size() - 1), end_(tokens_.back()) {}

const Token& TokenCursor::Peek(size_t ahead) const {
  size_t i = index_ + ahead;
  return i < limit_ ? tokens_[i] : end_;
}

Token TokenCursor::Next() {
  Token token = Peek();
  if (index_ < limit_) ++index_;
  return token;
}

bool TokenCursor::Is(std::string_view text) const {
  const Token& token = Peek();
  return (token.kind == TokenKind::kName || token.kind == TokenKind::kPunctuation) && token.text == text;
}

bool TokenCursor::Accept(std::string_view text) {
  if (!Is(text)) return false;
  Next();
  return true;
}

Status TokenCursor::Expect(std::string_view text, std::string_view context) {
  if (Accept(text)) return OkStatus();
  return Unexpected(context.empty() ? Quote(text) : StrCat(Quote(text), " ", context));
}

Result<std::string> TokenCursor::ExpectName(std::string_view what) {
  if (Peek().kind != TokenKind::kName) return Unexpected(what);
  return std::string(Next().text);
}

Status TokenCursor::Unexpected(std::string_view expected) const { return Unexpected(expected, {}); }

Status TokenCursor::Unexpected(std::string_view expected, std::span<const std::string> known) const {
  std::string hint = Peek().kind == TokenKind::kName ? DidYouMean(Peek().text, known) : "";
  return ErrorAt(Here(), StrCat("expected ", expected, ", found ", DescribeToken(Peek()), hint));
}

Status TokenCursor::ErrorAt(const SourcePosition& at, std::string_view message) const {
  return BadInput(StrCat(ToString(at), ": ", message));
}

SourcePosition TokenCursor::Here() const { return {file_, Peek().line, Peek().column}; }

void TokenCursor::EnterItem() {
  outer_.emplace_back(limit_, end_);
  int column = Peek().column;
  size_t end = index_ + 1;
  while (end < limit_ && end + 1 < tokens_.size() && !(tokens_[end].first && tokens_[end].column <= column)) ++end;
  limit_ = std::min(end, limit_);
  // The end is shown just behind the item's last token, where a reader would add what is missing.
  const Token& last = tokens_[limit_ - 1];
  end_ = {TokenKind::kEnd, {}, last.line, last.column + static_cast<int>(last.text.size()), false};
}

void TokenCursor::LeaveItem() {
  std::tie(limit_, end_) = outer_.back();
  outer_.pop_back();
}

std::string TokenCursor::TextSince(size_t from, bool keep_lines) const {
  std::string text;
  const char* previous = nullptr;
  int line = from < index_ ? tokens_[from].line : 0;
  for (size_t i = from; i < index_; ++i) {
    const Token& token = tokens_[i];
    bool is_string = token.kind == TokenKind::kString;
    const char* begin = token.text.data() - (is_string ? 1 : 0);
    if (keep_lines && token.line != line) {
      text += '\n' + std::string(static_cast<size_t>(token.column - 1), ' ');
    } else if (previous != nullptr && begin != previous) {
      text += ' ';
    }
    text.append(begin, token.text.size() + (is_string ? 2 : 0));
    previous = begin + token.text.size() + (is_string ? 2 : 0);
    line = token.line;
  }
  return text;
}

}  // namespace sbp
