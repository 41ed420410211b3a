// Paragraphs and schemas: `op NAME(parameters) -> results` and the items below it.
#include "rule/syntax.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "rule/lexer.h"
#include "rule/parser.h"

namespace sbp {
namespace {

constexpr std::pair<std::string_view, ParameterKind> kKinds[] = {
    {"Tensor", ParameterKind::kTensor}, {"Scalar", ParameterKind::kScalar},   {"int", ParameterKind::kInt},
    {"float", ParameterKind::kFloat},   {"bool", ParameterKind::kBool},       {"string", ParameterKind::kString},
    {"type", ParameterKind::kType},     {"literal", ParameterKind::kLiteral}, {"graph", ParameterKind::kGraph},
};

std::vector<std::string> KindWords() {
  std::vector<std::string> words;
  for (const auto& [word, kind] : kKinds) words.emplace_back(word);
  return words;
}

class FileParser {
 public:
  explicit FileParser(TokenCursor& cursor) : cursor_(cursor) {}

  Result<std::vector<OpOverload>> Run() {
    std::vector<OpOverload> overloads;
    while (!cursor_.AtEnd()) {
      OpOverload overload;
      SBP_RETURN_IF_ERROR(Paragraph(overload));
      SBP_RETURN_IF_ERROR(CheckOverload(overload));
      overloads.push_back(std::move(overload));
    }
    return overloads;
  }

 private:
  static bool IsTensor(ParameterKind kind) { return kind == ParameterKind::kTensor || kind == ParameterKind::kScalar; }

  Status Paragraph(OpOverload& overload) {
    const size_t from = cursor_.index();
    SBP_RETURN_IF_ERROR(HeaderAndItems(overload));
    overload.text = cursor_.TextSince(from, /*keep_lines=*/true);
    return OkStatus();
  }

  Status HeaderAndItems(OpOverload& overload) {
    overload.at = cursor_.Here();
    if (overload.at.column != 1) {
      return cursor_.Unexpected(
          "\"op\" or \"override op\" at the start of a line; lines indented like this one stand "
          "below an op");
    }
    cursor_.EnterItem();
    overload.overrides = cursor_.Accept("override");
    if (!cursor_.Is("op")) {
      const std::string words[] = {"op", "override"};
      return cursor_.Unexpected("\"op\" or \"override op\"", words);
    }
    cursor_.Next();
    SBP_ASSIGN_OR_RETURN(overload.op, cursor_.ExpectName("the name of the op"));
    SBP_RETURN_IF_ERROR(Header(overload));
    const bool has_items = !cursor_.AtEnd();
    cursor_.LeaveItem();
    if (!has_items) return OkStatus();
    if (!cursor_.Peek().first) return cursor_.Unexpected("\",\" and a further result, or the end of the line");
    while (!cursor_.AtEnd() && cursor_.Peek().column > 1) {
      cursor_.EnterItem();
      SBP_RETURN_IF_ERROR(Item(overload));
      cursor_.LeaveItem();
    }
    return OkStatus();
  }

  Status Header(OpOverload& overload) {
    SBP_RETURN_IF_ERROR(cursor_.Expect("(", "and the op's parameters"));
    if (!cursor_.Accept(")")) {
      bool keyword = false;
      do {
        if (cursor_.Accept("*")) {
          if (keyword) return cursor_.ErrorAt(cursor_.Here(), "\"*\" may stand only once");
          keyword = true;
          continue;
        }
        if (keyword && cursor_.Accept("...")) {
          overload.open_attributes = true;
          break;
        }
        Parameter& parameter = overload.parameters.emplace_back();
        SBP_RETURN_IF_ERROR(ParseParameter(parameter));
        parameter.keyword = keyword || !IsTensor(parameter.kind);
        if (keyword && parameter.kind == ParameterKind::kTensor) {
          return cursor_.ErrorAt(parameter.at, "a Tensor parameter cannot stand behind \"*\": attributes do");
        }
      } while (cursor_.Accept(","));
      SBP_RETURN_IF_ERROR(cursor_.Expect(")", "or \",\" after the parameter"));
    }
    SBP_RETURN_IF_ERROR(cursor_.Expect("->", "and the op's results"));
    if (!cursor_.Is("Tensor")) {
      return cursor_.AtEnd() || cursor_.Peek().first ? OkStatus() : cursor_.Unexpected("a result: Tensor NAME");
    }
    do {
      if (!cursor_.Is("Tensor")) return cursor_.Unexpected("a result: Tensor NAME");
      SBP_RETURN_IF_ERROR(ParseParameter(overload.results.emplace_back()));
    } while (cursor_.Accept(","));
    return OkStatus();
  }

  Status ParseParameter(Parameter& parameter) {
    parameter.at = cursor_.Here();
    const auto* row =
        std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& kind) { return cursor_.Is(kind.first); });
    if (row == std::end(kKinds))
      return cursor_.Unexpected("a parameter such as \"Tensor x\" or \"int axis=-1\"", KindWords());
    parameter.kind = row->second;
    cursor_.Next();
    if (cursor_.Accept("<")) {
      if (!IsTensor(parameter.kind)) return cursor_.ErrorAt(parameter.at, "only a Tensor or Scalar has a type in <>");
      SBP_ASSIGN_OR_RETURN(parameter.type, cursor_.ExpectName("a type"));
      SBP_RETURN_IF_ERROR(cursor_.Expect(">", "after the type"));
    }
    if (cursor_.Accept("[")) {
      SBP_RETURN_IF_ERROR(cursor_.Expect("]", ""));
      SBP_RETURN_IF_ERROR(MakeList(parameter));
    }
    SBP_ASSIGN_OR_RETURN(parameter.name, cursor_.ExpectName("the parameter's name"));
    parameter.optional = cursor_.Accept("?");
    if (!cursor_.Accept("=")) return OkStatus();
    if (parameter.kind == ParameterKind::kTensor) {
      return cursor_.ErrorAt(parameter.at, "a Tensor has no default; write \"Tensor NAME?\" if it may be absent");
    }
    return Default(parameter);
  }

  Status MakeList(Parameter& parameter) {
    switch (parameter.kind) {
      case ParameterKind::kTensor:
        parameter.variadic = true;
        return OkStatus();
      case ParameterKind::kInt:
        parameter.kind = ParameterKind::kInts;
        return OkStatus();
      case ParameterKind::kFloat:
        parameter.kind = ParameterKind::kFloats;
        return OkStatus();
      case ParameterKind::kString:
        parameter.kind = ParameterKind::kStrings;
        return OkStatus();
      default:
        return cursor_.ErrorAt(parameter.at, "there are lists of Tensor, int, float and string only");
    }
  }

  Status Default(Parameter& parameter) {
    switch (parameter.kind) {
      case ParameterKind::kInts:
        return List<int64_t>(parameter, &FileParser::Integer);
      case ParameterKind::kFloats:
        return List<double>(parameter, &FileParser::Number);
      case ParameterKind::kStrings:
        return List<std::string>(parameter, &FileParser::Text);
      case ParameterKind::kInt:
      case ParameterKind::kBool:
        return Single<int64_t>(parameter, &FileParser::Integer);
      case ParameterKind::kFloat:
      case ParameterKind::kScalar:
        return Single<double>(parameter, &FileParser::Number);
      case ParameterKind::kString:
      case ParameterKind::kType:
        return Single<std::string>(parameter, &FileParser::Text);
      default:
        return cursor_.ErrorAt(parameter.at, "a literal or graph has no default");
    }
  }

  template <typename T>
  using Element = Result<T> (FileParser::*)();

  template <typename T>
  Status Single(Parameter& parameter, Element<T> parse) {
    SBP_ASSIGN_OR_RETURN(T value, (this->*parse)());
    parameter.default_value = std::move(value);
    return OkStatus();
  }

  template <typename T>
  Status List(Parameter& parameter, Element<T> parse) {
    SBP_RETURN_IF_ERROR(cursor_.Expect("[", "and the list's entries"));
    std::vector<T> values;
    if (!cursor_.Accept("]")) {
      do {
        SBP_ASSIGN_OR_RETURN(T value, (this->*parse)());
        values.push_back(std::move(value));
      } while (cursor_.Accept(","));
      SBP_RETURN_IF_ERROR(cursor_.Expect("]", "or \",\" in the list"));
    }
    parameter.default_value = std::move(values);
    return OkStatus();
  }

  Result<int64_t> Integer() {
    if (cursor_.Accept("true")) return int64_t{1};
    if (cursor_.Accept("false")) return int64_t{0};
    std::string sign = cursor_.Accept("-") ? "-" : "";
    std::optional<int64_t> value = ParseInt(sign + std::string(cursor_.Peek().text));
    if (cursor_.Peek().kind != TokenKind::kInteger || !value) return cursor_.Unexpected("an integer, true or false");
    cursor_.Next();
    return *value;
  }

  Result<double> Number() {
    std::string sign = cursor_.Accept("-") ? "-" : "";
    std::optional<double> value = ParseDouble(sign + std::string(cursor_.Peek().text));
    bool is_number = cursor_.Peek().kind == TokenKind::kInteger || cursor_.Peek().kind == TokenKind::kFloat;
    if (!is_number || !value) return cursor_.Unexpected("a number");
    cursor_.Next();
    return *value;
  }

  Result<std::string> Text() {
    if (cursor_.Peek().kind == TokenKind::kName) return std::string(cursor_.Next().text);
    return ParseStringLiteral(cursor_, "a string or a name");
  }

  Result<AttentionLine> Attention() {
    AttentionLine line;
    line.at = cursor_.Here();
    line.backward = cursor_.Accept("backward");
    if (!line.backward && !cursor_.Accept("forward")) return cursor_.Unexpected("forward or backward");
    SBP_ASSIGN_OR_RETURN(line.head, ParseExpression(cursor_));
    if (!cursor_.Accept(",")) return line;
    if (cursor_.Peek().kind != TokenKind::kName) return cursor_.Unexpected("the operand that masks scores");
    line.mask = cursor_.Next().text;
    return line;
  }

  Status Item(OpOverload& overload) {
    if (cursor_.Accept("doc")) {
      SBP_ASSIGN_OR_RETURN(overload.doc, ParseStringLiteral(cursor_, "the description as a string"));
    } else if (cursor_.Accept("flops")) {
      if (overload.flops) return cursor_.ErrorAt(cursor_.Here(), "flops are given twice");
      SBP_ASSIGN_OR_RETURN(overload.flops, ParseExpression(cursor_));
    } else if (cursor_.Accept("attention")) {
      if (overload.attention) return cursor_.ErrorAt(cursor_.Here(), "attention is given twice");
      SBP_ASSIGN_OR_RETURN(overload.attention, Attention());
    } else if (cursor_.Accept("rule")) {
      SBP_ASSIGN_OR_RETURN(RuleLine line, ParseRuleLine(cursor_));
      DropEmpty(overload, line);
      overload.rules.push_back(std::move(line));
    } else if (cursor_.Accept("expand")) {
      SBP_ASSIGN_OR_RETURN(Expansion expansion, ParseExpansion(cursor_));
      overload.expansions.push_back(std::move(expansion));
    } else if (cursor_.Accept("vjp")) {
      SBP_ASSIGN_OR_RETURN(Expansion vjp, ParseExpansion(cursor_));
      overload.vjps.push_back(std::move(vjp));
    } else {
      const std::string words[] = {"doc", "flops", "attention", "rule", "expand", "vjp"};
      return cursor_.Unexpected("doc, flops, attention, rule, expand or vjp", words);
    }
    return cursor_.AtEnd() ? OkStatus() : cursor_.Unexpected("the end of the line");
  }

  // "rule -> n": no operand, or one of rank 0? As many as the schema says.
  static void DropEmpty(const OpOverload& overload, RuleLine& line) {
    bool no_operand = std::none_of(overload.parameters.begin(), overload.parameters.end(),
                                   [](const Parameter& p) { return p.kind == ParameterKind::kTensor; });
    if (no_operand && line.operands.size() == 1 && line.operands[0].empty()) line.operands.clear();
    if (overload.results.empty() && line.results.size() == 1 && line.results[0].empty()) line.results.clear();
  }

  TokenCursor& cursor_;
};

}  // namespace

Result<std::vector<OpOverload>> ParseRules(std::string_view text, std::string_view file) {
  SBP_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(text, file));
  TokenCursor cursor(std::move(tokens), std::string(file));
  return FileParser(cursor).Run();
}

}  // namespace sbp
