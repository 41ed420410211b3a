// The parsers of one rules file, one per construct; ParseRules (syntax.cc) calls them. Grammar: rules/README.md.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "rule/lexer.h"
#include "rule/syntax.h"

namespace sbp {

// Precedence climbing; nesting deeper than kMaxExpressionDepth is an error.
inline constexpr int kMaxExpressionDepth = 64;
Result<Expression> ParseExpression(TokenCursor& cursor);

// A value in an expansion: also calls of ops, lists, and names with an index.
Result<Expression> ParseTerm(TokenCursor& cursor);

// What follows the word `expand` or `vjp` up to the end of the item.
Result<Expansion> ParseExpansion(TokenCursor& cursor);

// What follows the word `rule` up to the end of the item.
Result<RuleLine> ParseRuleLine(TokenCursor& cursor);

// A string token with its escapes (\" and \\) resolved.
Result<std::string> ParseStringLiteral(TokenCursor& cursor, std::string_view what);

// Names: parameters, results, letters, functions and types that a paragraph uses must exist.
Status CheckOverload(const OpOverload& overload);
// The part of it that looks at one expansion.
Status CheckExpansion(const OpOverload& overload, const Expansion& expansion);
Status CheckVjp(const OpOverload& overload, const Expansion& vjp);

}  // namespace sbp
