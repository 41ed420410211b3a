// The body of a `rule` line: its notation or factorizer, and its clauses.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "rule/lexer.h"
#include "rule/parser.h"
#include "rule/syntax.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

class RuleParser {
 public:
  explicit RuleParser(TokenCursor& cursor) : cursor_(cursor) {}

  Result<RuleLine> Run() {
    size_t from = cursor_.index();
    line_.at = cursor_.Here();
    SBP_RETURN_IF_ERROR(Body());
    while (cursor_.Accept(";")) SBP_RETURN_IF_ERROR(Clause());
    if (!cursor_.AtEnd()) return cursor_.Unexpected("\";\" before the next clause, or the end of the line");
    line_.text = cursor_.TextSince(from);
    return std::move(line_);
  }

 private:
  using Parse = Status (RuleParser::*)(RuleClause&);
  struct ClauseRow {
    std::string_view word;
    Parse parse;
  };
  static const std::array<ClauseRow, 20> kClauses;

  Status Body() {
    if (cursor_.Is("whole") && (cursor_.Peek(1).kind == TokenKind::kEnd || cursor_.Peek(1).text == ";")) {
      cursor_.Next();
      line_.whole = true;
      return OkStatus();
    }
    if (cursor_.Accept("@")) return FactorizerCall();
    if (cursor_.Is("as") && cursor_.Peek(1).kind == TokenKind::kName && cursor_.Peek(2).text == "(")
      return InheritedOp();
    SBP_RETURN_IF_ERROR(Tensors(line_.operands));
    SBP_RETURN_IF_ERROR(cursor_.Expect("->", "or a dimension, \",\" or \";\" in the notation"));
    return Tensors(line_.results);
  }

  Status FactorizerCall() {
    SBP_ASSIGN_OR_RETURN(line_.factorizer, cursor_.ExpectName("the name of a factorizer after \"@\""));
    if (!cursor_.Accept("(") || cursor_.Accept(")")) return OkStatus();
    do {
      SBP_ASSIGN_OR_RETURN(Expression argument, ParseExpression(cursor_));
      line_.arguments.push_back(std::move(argument));
    } while (cursor_.Accept(","));
    return cursor_.Expect(")", "to close the factorizer's arguments");
  }

  // "as Op(a, -, b, *)": parsed as a call in an expansion is.
  Status InheritedOp() {
    cursor_.Next();
    const SourcePosition at = cursor_.Here();
    SBP_ASSIGN_OR_RETURN(line_.inherited, ParseTerm(cursor_));
    if (line_.inherited->kind == Expression::Kind::kOpCall) return OkStatus();
    return cursor_.ErrorAt(at, "expected the call of an op after \"as\": as Conv(x, w)");
  }

  Status Tensors(std::vector<NotationTensor>& tensors) {
    do {
      NotationTensor& tensor = tensors.emplace_back();
      while (!cursor_.AtEnd() && !cursor_.Is(",") && !cursor_.Is("->") && !cursor_.Is(";")) {
        if (tensor.size() >= static_cast<size_t>(kMaxRank)) {
          return cursor_.ErrorAt(cursor_.Here(), StrCat("a tensor has at most ", kMaxRank, " dimensions"));
        }
        SBP_RETURN_IF_ERROR(Dimension(tensor.emplace_back()));
      }
    } while (cursor_.Accept(","));
    return OkStatus();
  }

  Status Dimension(NotationDim& dim) {
    const Token token = cursor_.Peek();
    if (cursor_.Accept("...")) {
      dim.ellipsis = true;
      dim.ellipsis_whole = cursor_.Accept("!");
      return OkStatus();
    }
    if (cursor_.Accept("_")) return OkStatus();
    if (token.kind == TokenKind::kInteger) {
      std::optional<int64_t> size = ParseInt(token.text);
      if (!size) return cursor_.Unexpected("a size below 2^63");
      dim.literal = *size;
      cursor_.Next();
      return OkStatus();
    }
    if (!cursor_.Accept("(")) return Factor(dim.factors.emplace_back());
    do {
      SBP_RETURN_IF_ERROR(Factor(dim.factors.emplace_back()));
    } while (!cursor_.Is(")") && !cursor_.AtEnd());
    return cursor_.Expect(")", "to close the compound dimension");
  }

  Status Factor(NotationFactor& factor) {
    SBP_ASSIGN_OR_RETURN(factor.name, cursor_.ExpectName("a letter, \"...\", \"_\", a number, \"(\" or \"->\""));
    if (cursor_.Accept("*")) {
      if (cursor_.Peek().kind == TokenKind::kName) {
        factor.granularity_name = cursor_.Next().text;
      } else {
        std::optional<int64_t> units = ParseInt(cursor_.Peek().text);
        if (cursor_.Peek().kind != TokenKind::kInteger || !units || *units < 1) {
          return cursor_.Unexpected("a positive integer or an attribute after \"*\"");
        }
        factor.granularity = *units;
        cursor_.Next();
      }
    }
    factor.whole = cursor_.Accept("!");
    return OkStatus();
  }

  Status Clause() {
    RuleClause clause{.kind = std::string(cursor_.Peek().text), .at = cursor_.Here()};
    for (const ClauseRow& row : kClauses) {
      if (cursor_.Peek().kind != TokenKind::kName || row.word != clause.kind) continue;
      cursor_.Next();
      SBP_RETURN_IF_ERROR((this->*row.parse)(clause));
      line_.clauses.push_back(std::move(clause));
      return OkStatus();
    }
    std::vector<std::string> words;
    for (const ClauseRow& row : kClauses) words.emplace_back(row.word);
    return cursor_.Unexpected(StrCat("a clause (", Join(words, ", "), ")"), words);
  }

  Status Letters(RuleClause& clause) {
    size_t before = clause.words.size();
    while (cursor_.Peek().kind == TokenKind::kName || cursor_.Is("...")) clause.words.emplace_back(cursor_.Next().text);
    return clause.words.size() > before ? OkStatus() : cursor_.Unexpected("a letter of the notation");
  }

  Status Names(std::vector<std::string>& names, std::string_view what) {
    do {
      SBP_ASSIGN_OR_RETURN(std::string name, cursor_.ExpectName(what));
      names.push_back(std::move(name));
    } while (cursor_.Accept(","));
    return OkStatus();
  }

  Status ResultNames(RuleClause& clause) {
    return cursor_.Accept("->") ? Names(clause.results, "the name of a result") : OkStatus();
  }

  Status Reduce(RuleClause& clause) {
    static const std::vector<std::string> kKinds = {"sum", "max", "min", "prod", "none"};
    for (const std::string& kind : kKinds) {
      if (!cursor_.Accept(kind)) continue;
      clause.words.push_back(kind);
      SBP_RETURN_IF_ERROR(Letters(clause));
      return ResultNames(clause);
    }
    return cursor_.Unexpected("sum, max, min, prod or none", kKinds);
  }

  Status Partials(RuleClause& clause) {
    do {
      std::vector<std::string>& set = clause.alternatives.emplace_back();
      if (cursor_.Accept("{")) {
        SBP_RETURN_IF_ERROR(Names(set, "the name of an operand"));
        SBP_RETURN_IF_ERROR(cursor_.Expect("}", "or \",\" in the set of operands"));
      } else {
        SBP_ASSIGN_OR_RETURN(std::string name, cursor_.ExpectName("the name of an operand, or \"{\""));
        set.push_back(std::move(name));
      }
    } while (cursor_.Accept("|"));
    return ResultNames(clause);
  }

  Status Operands(RuleClause& clause) { return Names(clause.words, "the name of an operand"); }

  Status Expressions(RuleClause& clause) {
    do {
      SBP_ASSIGN_OR_RETURN(Expression expression, ParseExpression(cursor_));
      clause.expressions.push_back(std::move(expression));
    } while (cursor_.Accept(","));
    return OkStatus();
  }

  Status Halo(RuleClause& clause) {
    SBP_ASSIGN_OR_RETURN(std::string letter, cursor_.ExpectName("a letter of the notation"));
    clause.words.push_back(std::move(letter));
    SBP_RETURN_IF_ERROR(cursor_.Expect(":", "after the letter"));
    SBP_RETURN_IF_ERROR(Expressions(clause));
    if (clause.expressions.size() == 2 || clause.expressions.size() == 3) return OkStatus();
    return cursor_.ErrorAt(clause.at, "halo takes low, high and optionally stride: halo f:1,1");
  }

  // "along w[0]: scale, zero" or "along y: z".
  Status Along(RuleClause& clause) {
    SBP_ASSIGN_OR_RETURN(clause.text, cursor_.ExpectName("the name of an operand or a result"));
    if (cursor_.Accept("[")) {
      SBP_RETURN_IF_ERROR(When(clause));
      SBP_RETURN_IF_ERROR(cursor_.Expect("]", "after the dimension"));
    }
    SBP_RETURN_IF_ERROR(cursor_.Expect(":", "and the operands that lie along it"));
    return Operands(clause);
  }

  Status Nothing(RuleClause& /*clause*/) { return OkStatus(); }

  Status Size(RuleClause& clause) {
    SBP_ASSIGN_OR_RETURN(std::string letter, cursor_.ExpectName("a letter of the notation"));
    clause.words.push_back(std::move(letter));
    SBP_RETURN_IF_ERROR(cursor_.Expect("=", "after the letter"));
    return When(clause);
  }

  Status When(RuleClause& clause) {
    SBP_ASSIGN_OR_RETURN(Expression expression, ParseExpression(cursor_));
    clause.expressions.push_back(std::move(expression));
    return OkStatus();
  }

  Status Alternative(RuleClause& clause) {
    SBP_ASSIGN_OR_RETURN(std::string name, cursor_.ExpectName("the name of the implementation"));
    clause.words.push_back(std::move(name));
    SBP_RETURN_IF_ERROR(cursor_.Expect("(", "and the letters that it splits"));
    if (cursor_.Accept(")")) return OkStatus();
    SBP_RETURN_IF_ERROR(Names(clause.words, "a letter of the notation"));
    return cursor_.Expect(")", "or \",\" after the letter");
  }

  // "(S(0), B)" or "S(0)": the layouts of all operands or results on one mesh axis.
  Status Layouts(std::vector<Sbp>& layouts) {
    bool bracket = cursor_.Accept("(");
    if (bracket && cursor_.Accept(")")) return OkStatus();
    do {
      SourcePosition at = cursor_.Here();
      SBP_ASSIGN_OR_RETURN(std::string text, cursor_.ExpectName("S(dimension), B or P(kind)"));
      if (cursor_.Accept("(")) {
        text = StrCat(text, "(", cursor_.Next().text, ")");
        SBP_RETURN_IF_ERROR(cursor_.Expect(")", ""));
      }
      Result<Sbp> sbp = ParseSbp(text);
      if (!sbp.ok()) return cursor_.ErrorAt(at, sbp.status().message());
      layouts.push_back(*sbp);
    } while (cursor_.Accept(","));
    return bracket ? cursor_.Expect(")", "or \",\" in the signature") : OkStatus();
  }

  Status ExplicitSignature(RuleClause& clause) {
    SBP_RETURN_IF_ERROR(Layouts(clause.operands));
    SBP_RETURN_IF_ERROR(cursor_.Expect("->", "and the results' layouts"));
    return Layouts(clause.sbp_results);
  }

  Status Because(RuleClause& clause) {
    SBP_ASSIGN_OR_RETURN(clause.text, ParseStringLiteral(cursor_, "the reason as a string"));
    return OkStatus();
  }

  TokenCursor& cursor_;
  RuleLine line_;
};

const std::array<RuleParser::ClauseRow, 20> RuleParser::kClauses = {{
    {"reduce", &RuleParser::Reduce},     {"linear", &RuleParser::Partials},   {"monotone", &RuleParser::Partials},
    {"antitone", &RuleParser::Partials}, {"addend", &RuleParser::Operands},   {"along", &RuleParser::Along},
    {"whole", &RuleParser::Operands},    {"nonlinear", &RuleParser::Nothing}, {"aware", &RuleParser::Letters},
    {"masked", &RuleParser::Letters},    {"halo", &RuleParser::Halo},         {"unused", &RuleParser::Operands},
    {"picked", &RuleParser::Operands},   {"view", &RuleParser::Nothing},      {"size", &RuleParser::Size},
    {"when", &RuleParser::When},         {"alt", &RuleParser::Alternative},   {"sig", &RuleParser::ExplicitSignature},
    {"because", &RuleParser::Because},   {"detached", &RuleParser::Nothing},
}};

}  // namespace

Result<RuleLine> ParseRuleLine(TokenCursor& cursor) { return RuleParser(cursor).Run(); }

}  // namespace sbp
