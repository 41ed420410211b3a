// `expand` and `vjp` blocks: parsing, and the check that every name in them is known.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "rule/expression.h"
#include "rule/lexer.h"
#include "rule/parser.h"
#include "rule/syntax.h"

namespace sbp {
namespace {

class ExpansionParser {
 public:
  explicit ExpansionParser(TokenCursor& cursor) : cursor_(cursor) {}

  // All statements of the present item, an item each.
  Status Body(std::vector<ExpansionStatement>& body, int depth) {
    if (depth > kMaxExpressionDepth) return cursor_.ErrorAt(cursor_.Here(), "the blocks are nested too deeply");
    while (!cursor_.AtEnd()) {
      cursor_.EnterItem();
      const Status status = Statement(body.emplace_back(), depth);
      if (!status.ok()) return status;
      if (!cursor_.AtEnd()) return cursor_.Unexpected("the end of the line");
      cursor_.LeaveItem();
    }
    return OkStatus();
  }

 private:
  Status Statement(ExpansionStatement& statement, int depth) {
    statement.at = cursor_.Here();
    if (cursor_.Accept("for")) {
      statement.kind = ExpansionStatement::Kind::kFor;
      SBP_ASSIGN_OR_RETURN(std::string name, cursor_.ExpectName("the name of the loop's number"));
      statement.targets.push_back({std::move(name), std::nullopt});
      SBP_RETURN_IF_ERROR(cursor_.Expect("in", "and the numbers: FIRST..LIMIT"));
      SBP_ASSIGN_OR_RETURN(statement.value, ParseTerm(cursor_));
      SBP_RETURN_IF_ERROR(cursor_.Expect("..", "and one more than the last number"));
      SBP_ASSIGN_OR_RETURN(statement.limit, ParseTerm(cursor_));
      return Body(statement.body, depth + 1);
    }
    if (cursor_.Accept("when")) {
      statement.kind = ExpansionStatement::Kind::kWhen;
      SBP_ASSIGN_OR_RETURN(statement.when, ParseTerm(cursor_));
      return Body(statement.body, depth + 1);
    }
    do {
      ExpansionStatement::Target& target = statement.targets.emplace_back();
      SBP_ASSIGN_OR_RETURN(target.name, cursor_.ExpectName("a name and \"=\""));
      if (!cursor_.Accept("[")) continue;
      SBP_ASSIGN_OR_RETURN(target.index, ParseTerm(cursor_));
      SBP_RETURN_IF_ERROR(cursor_.Expect("]", "behind the index"));
    } while (cursor_.Accept(","));
    SBP_RETURN_IF_ERROR(cursor_.Expect("=", "and the value"));
    SBP_ASSIGN_OR_RETURN(statement.value, ParseTerm(cursor_));
    if (cursor_.Accept("because")) {
      SBP_ASSIGN_OR_RETURN(statement.because, ParseStringLiteral(cursor_, "the reason as a string"));
    }
    if (cursor_.Accept("when")) {
      SBP_ASSIGN_OR_RETURN(statement.when, ParseTerm(cursor_));
    }
    return OkStatus();
  }

  TokenCursor& cursor_;
};

Status TermError(const SourcePosition& at, std::string_view message) {
  return BadInput(StrCat(ToString(at), ": ", message));
}

bool IsWord(const Expression& node, std::string_view word) {
  return node.kind == Expression::Kind::kName && node.text == word;
}

// Of an expansion, or of a vjp: that one also knows the results and their cotangents, and sets the operands'.
class ExpansionChecker {
 public:
  ExpansionChecker(const OpOverload& overload, bool is_vjp) : is_vjp_(is_vjp) {
    for (const Parameter& p : overload.parameters) {
      known_.insert(p.name);
      if (!p.keyword) operands_.push_back(p.name);
    }
    for (const Parameter& r : overload.results) {
      results_.insert(r.name);
      if (!is_vjp) continue;
      known_.insert(r.name);
      known_.insert(StrCat(kCotangent, r.name));
    }
  }

  Status Body(const std::vector<ExpansionStatement>& body) {
    for (const ExpansionStatement& s : body) {
      if (s.when) SBP_RETURN_IF_ERROR(Term(*s.when));
      SBP_RETURN_IF_ERROR(Cotangent(s));
      const bool is_word = is_vjp_ && (IsWord(s.value, "zero") || s.because);
      if (s.kind != ExpansionStatement::Kind::kWhen && !is_word) SBP_RETURN_IF_ERROR(Term(s.value));
      if (s.limit) SBP_RETURN_IF_ERROR(Term(*s.limit));
      for (const ExpansionStatement::Target& target : s.targets) {
        if (target.index) SBP_RETURN_IF_ERROR(Term(*target.index));
        known_.insert(target.name);
      }
      const bool is_call = s.value.kind == Expression::Kind::kOpCall;
      if (s.targets.size() > 1 && !is_call) return TermError(s.at, "only a call of an op has several results");
      SBP_RETURN_IF_ERROR(Body(s.body));
    }
    return OkStatus();
  }

  // The last value of each result is the op's: one that no line sets is a slip.
  Status ResultsAreSet(const SourcePosition& at) const {
    for (const std::string& result : results_) {
      if (!known_.contains(result)) return TermError(at, StrCat("the expansion does not set result ", Quote(result)));
    }
    return OkStatus();
  }

  Status Term(const Expression& node) const {
    size_t from = 0;
    if (node.kind == Expression::Kind::kName || node.kind == Expression::Kind::kIndex) {
      SBP_RETURN_IF_ERROR(Known(node, false));
    }
    if (node.kind == Expression::Kind::kCall) {
      SBP_RETURN_IF_ERROR(Function(node));
      if (TakesName(node)) {
        from = 1;
        // Shapes and types of results are known, and whether somebody wants them.
        SBP_RETURN_IF_ERROR(Known(node.arguments[0], true));
      }
    }
    for (size_t i = from; i < node.arguments.size(); ++i) SBP_RETURN_IF_ERROR(Term(node.arguments[i]));
    return OkStatus();
  }

 private:
  // What a vjp says of an operand: "d.x = VALUE", "d.x = zero", "d.x = none because ...".
  Status Cotangent(const ExpansionStatement& s) const {
    if (s.because && (!is_vjp_ || !IsWord(s.value, "none"))) {
      return TermError(s.at, "only \"d.x = none\" in a vjp has a reason");
    }
    if (!is_vjp_ || s.kind != ExpansionStatement::Kind::kAssign) return OkStatus();
    if (IsWord(s.value, "none") && !s.because) return TermError(s.at, "\"none\" needs a reason: none because \"...\"");
    for (const ExpansionStatement::Target& target : s.targets) {
      if (!target.name.starts_with(kCotangent)) {
        if (s.because || IsWord(s.value, "zero")) return TermError(s.at, "only a cotangent is zero or none");
        continue;
      }
      const std::string name = target.name.substr(kCotangent.size());
      if (std::find(operands_.begin(), operands_.end(), name) != operands_.end()) continue;
      return TermError(s.at, StrCat("a vjp sets the cotangents of operands; there is no operand ", Quote(name),
                                    DidYouMean(name, operands_)));
    }
    return OkStatus();
  }

  static bool IsListFunction(std::string_view name) { return name == "dims" || name == "values"; }

  static bool TakesName(const Expression& node) {
    return IsListFunction(node.text) || FindFunction(node.text)->first != ArgumentKind::kExpression;
  }

  Status Known(const Expression& node, bool or_result) const {
    if (node.kind != Expression::Kind::kName && node.kind != Expression::Kind::kIndex) {
      return TermError(node.at, "a name is needed here");
    }
    if (known_.contains(node.text) || (or_result && results_.contains(node.text))) return OkStatus();
    const std::vector<std::string> known(known_.begin(), known_.end());
    return TermError(node.at, StrCat("unknown name ", Quote(node.text), DidYouMean(node.text, known)));
  }

  static Status Function(const Expression& node) {
    const FunctionRow* row = FindFunction(node.text);
    const bool is_list = IsListFunction(node.text);
    if (row == nullptr && !is_list) return TermError(node.at, StrCat("unknown function ", Quote(node.text)));
    const size_t least = is_list ? 1 : row->min_arguments;
    const size_t most = node.text == "dims" ? 3 : is_list ? 1 : row->max_arguments;
    if (node.arguments.size() < least || node.arguments.size() > most) {
      return TermError(node.at, StrCat(node.text, " does not take ", node.arguments.size(), " arguments"));
    }
    if (row != nullptr && row->first == ArgumentKind::kFactor) {
      return TermError(node.at, "an expansion knows no factors; dim(x, i) is the size of a dimension");
    }
    return OkStatus();
  }

  bool is_vjp_;
  std::vector<std::string> operands_;
  std::set<std::string> known_, results_;
};

}  // namespace

Result<Expansion> ParseExpansion(TokenCursor& cursor) {
  Expansion expansion;
  expansion.at = cursor.Here();
  if (cursor.Accept("when")) {
    SBP_ASSIGN_OR_RETURN(expansion.when, ParseTerm(cursor));
  }
  if (cursor.AtEnd()) return cursor.Unexpected("lines NAME = VALUE");
  SBP_RETURN_IF_ERROR(ExpansionParser(cursor).Body(expansion.body, 0));
  return expansion;
}

Status CheckExpansion(const OpOverload& overload, const Expansion& expansion) {
  ExpansionChecker checker(overload, false);
  if (expansion.when) SBP_RETURN_IF_ERROR(checker.Term(*expansion.when));
  SBP_RETURN_IF_ERROR(checker.Body(expansion.body));
  return checker.ResultsAreSet(expansion.at);
}

Status CheckVjp(const OpOverload& overload, const Expansion& vjp) {
  ExpansionChecker checker(overload, true);
  if (vjp.when) SBP_RETURN_IF_ERROR(checker.Term(*vjp.when));
  return checker.Body(vjp.body);
}

}  // namespace sbp
