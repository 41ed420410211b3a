// Names that a paragraph uses must be declared in it; everything that can be said without concrete shapes.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "rule/expression.h"
#include "rule/factorizer.h"
#include "rule/overload.h"
#include "rule/parser.h"
#include "rule/syntax.h"

namespace sbp {
namespace {

Status ErrorAt(const SourcePosition& at, std::string_view message) {
  return BadInput(StrCat(ToString(at), ": ", message));
}

bool Contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class OverloadChecker {
 public:
  explicit OverloadChecker(const OpOverload& overload) : overload_(overload) {}

  Status Run() {
    SBP_RETURN_IF_ERROR(Declarations());
    for (const RuleLine& line : overload_.rules) SBP_RETURN_IF_ERROR(Line(line));
    if (overload_.flops) SBP_RETURN_IF_ERROR(CheckExpression(*overload_.flops, nullptr));
    if (overload_.attention) SBP_RETURN_IF_ERROR(Attention(*overload_.attention));
    for (const Expansion& expansion : overload_.expansions) SBP_RETURN_IF_ERROR(CheckExpansion(overload_, expansion));
    for (const Expansion& vjp : overload_.vjps) SBP_RETURN_IF_ERROR(CheckVjp(overload_, vjp));
    return OkStatus();
  }

 private:
  Status Attention(const AttentionLine& line) {
    if (!line.mask.empty() && !Contains(operands_, line.mask)) {
      return ErrorAt(line.at, StrCat(Quote(line.mask), " is no operand", DidYouMean(line.mask, operands_)));
    }
    return CheckExpression(line.head, nullptr);
  }

  Status Declarations() {
    std::vector<std::string> all;
    bool variadic = false;
    for (const Parameter& p : overload_.parameters) {
      if (Contains(all, p.name)) return ErrorAt(p.at, StrCat("a second parameter named ", Quote(p.name)));
      all.push_back(p.name);
      bool tensor = p.kind == ParameterKind::kTensor || p.kind == ParameterKind::kScalar;
      if (!p.keyword && variadic) {
        return ErrorAt(p.at, "nothing may follow a variadic operand (\"[]\") but attributes");
      }
      if (!p.keyword) SBP_RETURN_IF_ERROR(OperandType(p));
      variadic |= !p.keyword && p.variadic;
      (tensor ? operands_ : attributes_).push_back(p.name);
      if (p.kind == ParameterKind::kScalar) attributes_.push_back(p.name);
    }
    for (const Parameter& r : overload_.results) {
      if (Contains(results_, r.name)) return ErrorAt(r.at, StrCat("a second result named ", Quote(r.name)));
      if (!results_.empty() && overload_.results[results_.size() - 1].variadic) {
        return ErrorAt(r.at, "nothing may follow a variadic result (\"[]\")");
      }
      results_.push_back(r.name);
      if (r.type.empty() || ParseDType(r.type) || Contains(all, r.type)) continue;
      std::vector<std::string> known = all;
      for (const std::string& name : DTypeNames()) known.push_back(name);
      return UnknownName(r.at, "operand, attribute or type", r.type, known);
    }
    return OkStatus();
  }

  // A type, a group of types, or an operand that stands before.
  Status OperandType(const Parameter& p) const {
    if (p.type.empty() || IsTypeName(p.type) || Contains(operands_, p.type)) return OkStatus();
    std::vector<std::string> known = TypeNames();
    known.insert(known.end(), operands_.begin(), operands_.end());
    return UnknownName(p.at, "type or earlier operand", p.type, known);
  }

  static Status UnknownName(const SourcePosition& at, std::string_view what, std::string_view name,
                            const std::vector<std::string>& known) {
    std::string hint = DidYouMean(name, known);
    if (hint.empty() && !known.empty() && known.size() <= 12) hint = StrCat(" (known: ", Join(known, ", "), ")");
    return ErrorAt(at, StrCat("unknown ", what, " ", Quote(name), hint));
  }

  Status Line(const RuleLine& line) {
    std::vector<std::string> letters;
    if (line.inherited) SBP_RETURN_IF_ERROR(InheritedCall(*line.inherited));
    const bool is_notation = line.factorizer.empty() && !line.whole && !line.inherited;
    if (is_notation) SBP_RETURN_IF_ERROR(Notation(line, letters));
    for (const Expression& argument : line.arguments) {
      // A lone name may be an operand, or a word for the factorizer.
      if (argument.kind != Expression::Kind::kName) SBP_RETURN_IF_ERROR(CheckExpression(argument, nullptr));
    }
    for (const RuleClause& clause : line.clauses) {
      SBP_RETURN_IF_ERROR(Clause(clause, is_notation ? &letters : nullptr));
    }
    return is_notation ? SizesOfResultLetters(line) : OkStatus();
  }

  // Of `rule as Op(...)`: operands by name, then attributes. Whether Op takes them, RuleSet says.
  Status InheritedCall(const Expression& call) {
    const size_t positional = call.arguments.size() - call.keywords.size();
    for (size_t i = 0; i < call.arguments.size(); ++i) {
      const Expression& argument = call.arguments[i];
      if (argument.kind == Expression::Kind::kAll || argument.kind == Expression::Kind::kAbsent) continue;
      if (i >= positional) {
        SBP_RETURN_IF_ERROR(CheckExpression(argument, nullptr));
      } else if (argument.kind != Expression::Kind::kName) {
        return ErrorAt(argument.at, StrCat("\"as ", call.text, "\" takes names of operands, or \"-\" for none"));
      } else if (!Contains(operands_, argument.text)) {
        return UnknownName(argument.at, "operand", argument.text, operands_);
      }
    }
    return OkStatus();
  }

  Status Notation(const RuleLine& line, std::vector<std::string>& letters) {
    auto tensors = std::count_if(overload_.parameters.begin(), overload_.parameters.end(),
                                 [](const Parameter& p) { return p.kind == ParameterKind::kTensor; });
    SBP_RETURN_IF_ERROR(Count(line, "operand", static_cast<size_t>(tensors), line.operands.size()));
    SBP_RETURN_IF_ERROR(Count(line, "result", results_.size(), line.results.size()));
    bool operand_ellipsis = false;
    for (const auto* side : {&line.operands, &line.results}) {
      for (const NotationTensor& tensor : *side) {
        bool ellipsis = false;
        for (const NotationDim& dim : tensor) {
          if (dim.ellipsis && ellipsis) return ErrorAt(line.at, "\"...\" stands twice in one tensor");
          ellipsis |= dim.ellipsis;
          for (const NotationFactor& factor : dim.factors) SBP_RETURN_IF_ERROR(Letter(line, factor, letters));
        }
        if (side == &line.operands) operand_ellipsis |= ellipsis;
        if (side == &line.results && ellipsis && !operand_ellipsis) {
          return ErrorAt(line.at, "\"...\" stands in a result but in no operand");
        }
      }
    }
    if (operand_ellipsis) letters.push_back("...");
    return OkStatus();
  }

  Status Letter(const RuleLine& line, const NotationFactor& factor, std::vector<std::string>& letters) {
    if (factor.name == "_") return ErrorAt(line.at, "\"_\" cannot stand in a compound dimension");
    if (!Contains(letters, factor.name)) letters.push_back(factor.name);
    if (factor.granularity_name.empty() || Contains(attributes_, factor.granularity_name)) return OkStatus();
    return UnknownName(line.at, "attribute", factor.granularity_name, attributes_);
  }

  static Status Count(const RuleLine& line, std::string_view what, size_t declared, size_t written) {
    if (declared == written) return OkStatus();
    return ErrorAt(
        line.at, StrCat("the op has ", declared, " ", what, declared == 1 ? "" : "s", ", the notation has ", written));
  }

  Status SizesOfResultLetters(const RuleLine& line) {
    std::set<std::string_view> sized;
    for (const NotationTensor& tensor : line.operands) {
      for (const NotationDim& dim : tensor) {
        for (const NotationFactor& factor : dim.factors) sized.insert(factor.name);
      }
    }
    for (const RuleClause& clause : line.clauses) {
      if (clause.kind == "size") sized.insert(clause.words[0]);
    }
    for (const NotationTensor& tensor : line.results) {
      for (const NotationDim& dim : tensor) {
        for (const NotationFactor& factor : dim.factors) {
          if (sized.count(factor.name) != 0) continue;
          return ErrorAt(line.at, StrCat("only results carry ", Quote(factor.name), ": give its size with \"; size ",
                                         factor.name, " = ...\""));
        }
      }
    }
    return OkStatus();
  }

  Status All(const RuleClause& clause, std::string_view what, const std::vector<std::string>& names, size_t from,
             const std::vector<std::string>& known) {
    for (size_t i = from; i < names.size(); ++i) {
      if (!Contains(known, names[i])) return UnknownName(clause.at, what, names[i], known);
    }
    return OkStatus();
  }

  // `letters` is null where a factorizer makes the factors: their names are its own.
  Status Clause(const RuleClause& clause, const std::vector<std::string>* letters) {
    const std::string& kind = clause.kind;
    if (letters != nullptr) {
      if (kind == "reduce" || kind == "alt") SBP_RETURN_IF_ERROR(All(clause, "letter", clause.words, 1, *letters));
      if (kind == "aware" || kind == "masked" || kind == "halo" || kind == "size") {
        SBP_RETURN_IF_ERROR(All(clause, "letter", clause.words, 0, *letters));
      }
    }
    if (kind == "addend" || kind == "unused" || kind == "picked" || kind == "along" || kind == "whole") {
      SBP_RETURN_IF_ERROR(All(clause, "operand", clause.words, 0, operands_));
    }
    if (kind == "along" && !Contains(operands_, clause.text) && !Contains(results_, clause.text)) {
      std::vector<std::string> known = operands_;
      known.insert(known.end(), results_.begin(), results_.end());
      return UnknownName(clause.at, "operand or result", clause.text, known);
    }
    for (const std::vector<std::string>& set : clause.alternatives) {
      SBP_RETURN_IF_ERROR(All(clause, "operand", set, 0, operands_));
    }
    SBP_RETURN_IF_ERROR(All(clause, "result", clause.results, 0, results_));
    if (kind == "sig") SBP_RETURN_IF_ERROR(ExplicitSignature(clause));
    for (const Expression& expression : clause.expressions) SBP_RETURN_IF_ERROR(CheckExpression(expression, letters));
    return OkStatus();
  }

  Status ExplicitSignature(const RuleClause& clause) {
    size_t operands = std::count_if(overload_.parameters.begin(), overload_.parameters.end(),
                                    [](const Parameter& p) { return p.kind == ParameterKind::kTensor; });
    if (clause.operands.size() == operands && clause.sbp_results.size() == results_.size()) return OkStatus();
    return ErrorAt(clause.at, StrCat("the signature has ", clause.operands.size(), " -> ", clause.sbp_results.size(),
                                     " layouts, the op ", operands, " -> ", results_.size(), " tensors"));
  }

  Status CheckExpression(const Expression& node, const std::vector<std::string>* letters) {
    if (node.kind == Expression::Kind::kName && !Contains(attributes_, node.text)) {
      return UnknownName(node.at, "attribute", node.text, attributes_);
    }
    size_t from = 0;
    if (node.kind == Expression::Kind::kCall) {
      SBP_RETURN_IF_ERROR(CheckCall(node, letters));
      if (FindFunction(node.text)->first != ArgumentKind::kExpression) from = 1;
    }
    for (size_t i = from; i < node.arguments.size(); ++i) {
      SBP_RETURN_IF_ERROR(CheckExpression(node.arguments[i], letters));
    }
    return OkStatus();
  }

  Status CheckCall(const Expression& node, const std::vector<std::string>* letters) {
    const FunctionRow* row = FindFunction(node.text);
    if (row == nullptr) {
      std::vector<std::string> known;
      for (const FunctionRow& r : AllFunctions()) known.emplace_back(r.name);
      return UnknownName(node.at, "function", node.text, known);
    }
    int count = static_cast<int>(node.arguments.size());
    if (count < row->min_arguments || count > row->max_arguments) {
      return ErrorAt(node.at, StrCat(node.text, " takes ", row->min_arguments,
                                     row->max_arguments > row->min_arguments ? StrCat(" to ", row->max_arguments) : "",
                                     " arguments, not ", count, ": ", row->doc));
    }
    if (row->first == ArgumentKind::kExpression) return OkStatus();
    const Expression& first = node.arguments[0];
    if (first.kind != Expression::Kind::kName) return ErrorAt(first.at, StrCat(node.text, " needs a name here"));
    std::vector<std::string> known;
    switch (row->first) {
      case ArgumentKind::kFactor:
        if (letters == nullptr) return OkStatus();  // flops serve several lines; a factorizer names its own
        known = *letters;
        break;
      case ArgumentKind::kAttribute:
        known = attributes_;
        break;
      default:
        known = operands_;
        if (row->first == ArgumentKind::kTensor) known.insert(known.end(), results_.begin(), results_.end());
        if (row->first == ArgumentKind::kParameter) known.insert(known.end(), attributes_.begin(), attributes_.end());
    }
    return Contains(known, first.text) ? OkStatus() : UnknownName(first.at, "name", first.text, known);
  }

  const OpOverload& overload_;
  std::vector<std::string> operands_, attributes_, results_;
};

}  // namespace

Status CheckOverload(const OpOverload& overload) { return OverloadChecker(overload).Run(); }

}  // namespace sbp
