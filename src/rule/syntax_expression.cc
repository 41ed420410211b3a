#include "base/text.h"
#include "rule/parser.h"

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
  explicit ExpressionParser(TokenCursor& cursor) : cursor_(cursor) {}

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
    if (!cursor_.Accept("(")) return node;
    node.kind = Expression::Kind::kCall;
    if (cursor_.Accept(")")) return node;
    do {
      SBP_ASSIGN_OR_RETURN(Expression argument, Binary(1, depth + 1));
      node.arguments.push_back(std::move(argument));
    } while (cursor_.Accept(","));
    SBP_RETURN_IF_ERROR(cursor_.Expect(")", StrCat("or \",\" in the arguments of ", node.text)));
    return node;
  }

  TokenCursor& cursor_;
};

}  // namespace

Result<Expression> ParseExpression(TokenCursor& cursor) { return ExpressionParser(cursor).Binary(1, 0); }

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
