#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "base/text.h"
#include "rule/lexer.h"
#include "rule/parser.h"
#include "rule/syntax.h"

namespace sbp {
namespace {

struct Operator {
  std::string_view text;
  int precedence;  // higher binds tighter
};
constexpr Operator kOperators[] = {{"||", 1}, {"&&", 2}, {"==", 3}, {"!=", 3}, {"<", 4}, {"<=", 4}, {">", 4},
                                   {">=", 4}, {"+", 5},  {"-", 5},  {"*", 6},  {"/", 6}, {"%", 6}};

const Operator* FindOperator(const Token& token) {
  if (token.kind != TokenKind::kPunctuation) return nullptr;
  for (const Operator& op : kOperators) {
    if (op.text == token.text) return &op;
  }
  return nullptr;
}

class ExpressionParser {
 public:
  // `terms`: of an expansion.
  ExpressionParser(TokenCursor& cursor, bool terms) : cursor_(cursor), terms_(terms) {}

  Result<Expression> Binary(int least_precedence, int depth) {
    if (depth > kMaxExpressionDepth) return cursor_.ErrorAt(cursor_.Here(), "the expression is nested too deeply");
    SBP_ASSIGN_OR_RETURN(Expression left, Unary(depth));
    int height = 0;  // a chain a + b + c + ... grows to the left, so its tree is as deep as it is long
    while (const Operator* op = FindOperator(cursor_.Peek())) {
      if (op->precedence < least_precedence) break;
      if (++height > kMaxExpressionDepth) return cursor_.ErrorAt(cursor_.Here(), "the expression is too long");
      Expression node{.kind = Expression::Kind::kBinary, .at = cursor_.Here(), .text = std::string(op->text)};
      cursor_.Next();
      SBP_ASSIGN_OR_RETURN(Expression right, Binary(op->precedence + 1, depth + 1));
      node.arguments.push_back(std::move(left));
      node.arguments.push_back(std::move(right));
      left = std::move(node);
    }
    return left;
  }

 private:
  Result<Expression> Unary(int depth) {
    if (depth > kMaxExpressionDepth) return cursor_.ErrorAt(cursor_.Here(), "the expression is nested too deeply");
    if (!cursor_.Is("-") && !cursor_.Is("!")) return Primary(depth);
    Expression node{.kind = Expression::Kind::kUnary, .at = cursor_.Here(), .text = std::string(cursor_.Next().text)};
    SBP_ASSIGN_OR_RETURN(Expression operand, Unary(depth + 1));
    node.arguments.push_back(std::move(operand));
    return node;
  }

  Result<Expression> Primary(int depth) {
    Expression node{.at = cursor_.Here()};
    const Token token = cursor_.Peek();
    switch (token.kind) {
      case TokenKind::kInteger: {
        std::optional<int64_t> value = ParseInt(token.text);
        if (!value) return cursor_.Unexpected("an integer below 2^63");
        node.int_value = *value;
        break;
      }
      case TokenKind::kFloat: {
        std::optional<double> value = ParseDouble(token.text);
        if (!value) return cursor_.Unexpected("a number");
        node.kind = Expression::Kind::kFloat;
        node.float_value = *value;
        break;
      }
      case TokenKind::kString: {
        node.kind = Expression::Kind::kString;
        SBP_ASSIGN_OR_RETURN(node.text, ParseStringLiteral(cursor_, "a string"));
        return node;
      }
      case TokenKind::kName:
        return NameOrCall(depth);
      default:
        if (terms_ && cursor_.Is("[")) return List(depth);
        if (!cursor_.Accept("(")) return cursor_.Unexpected("a number, a name, a string or \"(\"");
        SBP_ASSIGN_OR_RETURN(node, Binary(1, depth + 1));
        SBP_RETURN_IF_ERROR(cursor_.Expect(")", "to close the bracket"));
        return node;
    }
    cursor_.Next();
    return node;
  }

  Result<Expression> NameOrCall(int depth) {
    Expression node{.kind = Expression::Kind::kName, .at = cursor_.Here(), .text = std::string(cursor_.Next().text)};
    if (terms_ && cursor_.Accept("[")) return Index(std::move(node), depth);
    if (!cursor_.Accept("(")) return node;
    if (terms_ && IsOpName(node.text)) return OpCall(std::move(node), depth);
    node.kind = Expression::Kind::kCall;
    if (cursor_.Accept(")")) return node;
    do {
      SBP_ASSIGN_OR_RETURN(Expression argument, Binary(1, depth + 1));
      node.arguments.push_back(std::move(argument));
    } while (cursor_.Accept(","));
    if (cursor_.Accept(")")) return node;
    return cursor_.Expect(")", StrCat("or \",\" in the arguments of ", node.text));
  }

  // Ops begin with a capital letter or have a domain; functions do not.
  static bool IsOpName(std::string_view name) {
    return (name[0] >= 'A' && name[0] <= 'Z') || name.find("::") != std::string_view::npos;
  }

  // Behind "(".
  Result<Expression> OpCall(Expression node, int depth) {
    node.kind = Expression::Kind::kOpCall;
    if (cursor_.Accept(")")) return node;
    do {
      const bool is_last = cursor_.Peek(1).text == "," || cursor_.Peek(1).text == ")";
      const Expression symbol{.kind = cursor_.Is("*") ? Expression::Kind::kAll : Expression::Kind::kAbsent,
                              .at = cursor_.Here()};
      if (is_last && cursor_.Accept("*")) {  // stands before the attributes, so that those are the last arguments
        node.arguments.insert(node.arguments.begin(), symbol);
        continue;
      }
      if (cursor_.Peek().kind == TokenKind::kName && cursor_.Peek(1).text == "=") {
        node.keywords.emplace_back(cursor_.Next().text);
        cursor_.Next();
      } else if (!node.keywords.empty()) {
        return cursor_.Unexpected("an attribute: NAME = VALUE");
      } else if (is_last && cursor_.Accept("-")) {
        node.arguments.push_back(symbol);
        continue;
      }
      SBP_ASSIGN_OR_RETURN(Expression argument, Binary(1, depth + 1));
      node.arguments.push_back(std::move(argument));
    } while (cursor_.Accept(","));
    if (cursor_.Accept(")")) return node;
    return cursor_.Expect(")", StrCat("or \",\" in the arguments of ", node.text));
  }

  // "a" or "a..b".
  Result<Expression> Item(int depth) {
    SBP_ASSIGN_OR_RETURN(Expression first, Binary(1, depth + 1));
    if (!cursor_.Is("..")) return first;
    Expression range{.kind = Expression::Kind::kRange, .at = first.at};
    cursor_.Next();
    SBP_ASSIGN_OR_RETURN(Expression limit, Binary(1, depth + 1));
    range.arguments.push_back(std::move(first));
    range.arguments.push_back(std::move(limit));
    return range;
  }

  Result<Expression> List(int depth) {
    Expression list{.kind = Expression::Kind::kList, .at = cursor_.Here()};
    cursor_.Next();
    if (cursor_.Accept("]")) return list;
    do {
      SBP_ASSIGN_OR_RETURN(Expression item, Item(depth));
      list.arguments.push_back(std::move(item));
    } while (cursor_.Accept(","));
    SBP_RETURN_IF_ERROR(cursor_.Expect("]", "or \",\" in the list"));
    return list;
  }

  // Behind "NAME[".
  Result<Expression> Index(Expression node, int depth) {
    node.kind = Expression::Kind::kIndex;
    SBP_ASSIGN_OR_RETURN(Expression item, Item(depth));
    if (item.kind == Expression::Kind::kRange) {
      node.arguments = std::move(item.arguments);
    } else {
      node.arguments.push_back(std::move(item));
    }
    SBP_RETURN_IF_ERROR(cursor_.Expect("]", "behind the index"));
    return node;
  }

  TokenCursor& cursor_;
  bool terms_;
};

}  // namespace

Result<Expression> ParseExpression(TokenCursor& cursor) { return ExpressionParser(cursor, false).Binary(1, 0); }
Result<Expression> ParseTerm(TokenCursor& cursor) { return ExpressionParser(cursor, true).Binary(1, 0); }

Result<std::string> ParseStringLiteral(TokenCursor& cursor, std::string_view what) {
  if (cursor.Peek().kind != TokenKind::kString) return cursor.Unexpected(what);
  std::string text;
  std::string_view raw = cursor.Next().text;
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] == '\\' && i + 1 < raw.size()) ++i;
    text += raw[i];
  }
  return text;
}

}  // namespace sbp
