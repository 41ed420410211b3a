// Sizes as sympy's srepr() writes them, in the form that fold/dim_expression.h reads.
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "torch/program.h"

namespace sbp::torch {
namespace {

constexpr int kMaxDepth = 64;

struct OperatorRow {
  std::string_view function, text;
};
constexpr OperatorRow kOperators[] = {{"Add", " + "}, {"Mul", " * "}, {"Pow", "**"}, {"Rational", "/"}};

class Printer {
 public:
  explicit Printer(std::string_view text) : text_(text) {}

  bool Run(std::string& out) { return Term(out, 0) && Skip() == text_.size(); }

 private:
  size_t Skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_;
  }
  bool Eat(char c) {
    if (Skip() >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string_view Word() {
    const size_t from = Skip();
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_' ||
                                  text_[at_] == '.' || (at_ == from && text_[at_] == '-'))) {
      ++at_;
    }
    return text_.substr(from, at_ - from);
  }

  // Symbol('s0', positive=True): the name alone.
  bool Symbol(std::string& out) {
    if (!Eat('\'')) return false;
    const size_t end = text_.find('\'', at_);
    const size_t close = end == std::string_view::npos ? end : text_.find(')', end);
    if (close == std::string_view::npos) return false;
    out = text_.substr(at_, end - at_);
    at_ = close + 1;
    return true;
  }

  bool Term(std::string& out, int depth) {
    const std::string_view word = Word();
    if (word.empty() || depth > kMaxDepth) return false;
    if (!Eat('(')) {
      out = word;
      return true;
    }
    if (word == "Symbol") return Symbol(out);
    std::vector<std::string> arguments;
    do {
      if (!Term(arguments.emplace_back(), depth + 1)) return false;
    } while (Eat(','));
    if (!Eat(')')) return false;
    if (word == "Integer") {
      out = arguments[0];
      return true;
    }
    for (const OperatorRow& row : kOperators) {
      if (row.function != word) continue;
      out = StrCat("(", Join(arguments, row.text), ")");
      return true;
    }
    // Functions of two arguments; of more, the first two, then the next.
    out = arguments[0];
    if (arguments.size() == 1) out = StrCat(word, "(", out, ")");
    for (size_t i = 1; i < arguments.size(); ++i) out = StrCat(word, "(", out, ", ", arguments[i], ")");
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::string PlainExpression(std::string_view text) {
  std::string out;
  return Printer(text).Run(out) ? out : std::string(text);
}

}  // namespace sbp::torch
