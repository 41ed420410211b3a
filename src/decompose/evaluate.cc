#include "decompose/evaluate.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "decompose/decompose.h"
#include "decompose/expansion_scope.h"
#include "decompose/expansion_values.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "rule/expression.h"
#include "rule/overload.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// In the lists of one expansion, all together.
constexpr int64_t kMaxNumbers = int64_t{1} << 24;

struct OperatorRow {
  std::string_view text;
  std::string_view op;
  bool negated = false;
};
constexpr OperatorRow kOperators[] = {{"+", "Add"},
                                      {"-", "Sub"},
                                      {"*", "Mul"},
                                      {"/", "Div"},
                                      {"%", "Mod"},
                                      {"==", "Equal"},
                                      {"!=", "Equal", true},
                                      {"<", "Less"},
                                      {"<=", "LessOrEqual"},
                                      {">", "Greater"},
                                      {">=", "GreaterOrEqual"},
                                      {"&&", "And"},
                                      {"||", "Or"}};

class Evaluator {
 public:
  explicit Evaluator(ExpansionBuilder& builder)
      : builder_(builder), scope_(builder), budget_(ExpansionBudgetOf(builder.query().type, builder.rules())) {}

  Result<bool> Holds(const Expression& condition) {
    SBP_ASSIGN_OR_RETURN(const ExpressionValue value, Evaluate(condition, scope_));
    return IsTrue(value);
  }

  Status Body(const std::vector<ExpansionStatement>& body) {
    for (const ExpansionStatement& statement : body) {
      SBP_RETURN_IF_ERROR(Step(statement));
      if (statement.when) {
        SBP_ASSIGN_OR_RETURN(const bool holds, Holds(*statement.when));
        if (!holds) continue;
      }
      switch (statement.kind) {
        case ExpansionStatement::Kind::kAssign:
          SBP_RETURN_IF_ERROR(Assign(statement));
          break;
        case ExpansionStatement::Kind::kFor:
          SBP_RETURN_IF_ERROR(Loop(statement));
          break;
        case ExpansionStatement::Kind::kWhen:
          SBP_RETURN_IF_ERROR(Body(statement.body));
      }
    }
    return OkStatus();
  }

  // Each result is what its name stands for at the end.
  Status SetResults() {
    const OpOverload& overload = *builder_.binding().overload;
    for (size_t i = 0; i < overload.results.size(); ++i) {
      const ParameterSlot& slot = builder_.binding().results[i];
      for (int k = 0; k < slot.count; ++k) {
        if (!builder_.query().wanted[slot.first + k]) continue;
        Expression name{.kind = Expression::Kind::kName, .at = overload.at, .text = overload.results[i].name};
        if (overload.results[i].variadic) {
          name.kind = Expression::Kind::kIndex;
          name.arguments.push_back({.int_value = k});
        }
        SBP_ASSIGN_OR_RETURN(const ExpansionValue value, scope_.Find(name));
        SBP_ASSIGN_OR_RETURN(const TensorId id,
                             TensorOf(value, builder_.instance().results[slot.first + k].dtype, builder_));
        builder_.SetResult(slot.first + k, id);
      }
    }
    return builder_.status();
  }

  // Results and their cotangents are further inputs of what is built: those of results that exist.
  void BindResults(const std::vector<bool>& reached) {
    const OpOverload& overload = *builder_.binding().overload;
    for (size_t i = 0; i < overload.results.size(); ++i) {
      const ParameterSlot& slot = builder_.binding().results[i];
      std::vector<TensorId> results, cotangents;
      for (int k = 0; k < slot.count; ++k) {
        const int r = slot.first + k;
        const TensorType& type = builder_.instance().results[r];
        const bool exists = builder_.query().wanted[r] && type.dtype != DType::kUndefined;
        const std::string& name = overload.results[i].name;
        const std::string full = overload.results[i].variadic ? ExpansionScope::Indexed(name, k) : name;
        const std::string cotangent = StrCat(kCotangent, full);
        results.push_back(exists ? builder_.AddInput(full, type) : TensorId());
        if (exists && reached[r]) {
          cotangents.push_back(builder_.AddInput(cotangent, type));
          scope_.Set(cotangent, cotangents.back());
        } else {
          cotangents.push_back(exists ? Zeros(type) : TensorId());
          scope_.SetAbsent(cotangent, cotangents.back());
        }
        scope_.Set(full, results.back());
      }
      if (!overload.results[i].variadic) continue;
      scope_.Set(overload.results[i].name, std::move(results));
      scope_.Set(StrCat(kCotangent, overload.results[i].name), std::move(cotangents));
    }
  }

  // What the block says of operand `index`, shaped and typed like it; invalid: zero.
  Result<TensorId> CotangentOf(const Expansion& vjp, size_t index) {
    const std::string& operand = builder_.instance().operand_names[index];
    const std::string name = StrCat(kCotangent, operand);
    if (const auto reason = none_.find(name); reason != none_.end()) {
      return ErrorInText(vjp.at,
                         StrCat(builder_.query().type, " ", kNoDerivative, " ", Quote(operand), ": ", reason->second));
    }
    SBP_ASSIGN_OR_RETURN(const std::optional<ExpansionValue> value, scope_.Local(name));
    if (!value) {
      return ErrorInText(vjp.at, StrCat("the vjp of ", builder_.query().type, " does not set ", Quote(name)));
    }
    const TensorType& type = builder_.instance().operands[index];
    SBP_ASSIGN_OR_RETURN(const TensorId id, TensorOf(*value, type.dtype, builder_));
    if (!id.valid()) return id;
    return SumTo(vjp, name, id, type);
  }

 private:
  TensorId Zeros(const TensorType& type) {
    const TensorId zero = builder_.Number(0, type.dtype);
    return type.rank() == 0 ? zero : builder_.Call("Expand", {zero, builder_.Ints(type.shape)});
  }

  // The sum over what was broadcast, in the wider type.
  Result<TensorId> SumTo(const Expansion& vjp, const std::string& name, TensorId id, const TensorType& type) {
    const Shape from = builder_.shape(id);
    const int skipped = static_cast<int>(from.size()) - type.rank();
    std::vector<int64_t> leading, inner;  // inner ones, counted behind the leading
    bool fits = skipped >= 0;
    for (int d = 0; fits && d < static_cast<int>(from.size()); ++d) {
      const int64_t size = d < skipped ? 1 : type.shape[d - skipped];
      fits = size == from[d] || size == 1;
      if (d < skipped) leading.push_back(d);
      if (d >= skipped && size != from[d]) inner.push_back(d - skipped);
    }
    if (!fits) {
      return ErrorInText(
          vjp.at, StrCat("the vjp of ", builder_.query().type, " gives ", Quote(name), " as ",
                         sbp::ToString(builder_.type(id)), ", which does not broadcast from ", sbp::ToString(type)));
    }
    const auto cast = [&](DType to) {
      if (builder_.type(id).dtype != to) id = builder_.Call("Cast", {id}, {{"to", static_cast<int64_t>(to)}});
    };
    const auto sum = [&](std::vector<int64_t>& axes, int64_t keep) {
      if (axes.empty()) return;
      if (IsFloat(type.dtype) && DTypeBits(type.dtype) < 32) cast(DType::kF32);
      id = builder_.Call("ReduceSum", {id, builder_.Ints(std::move(axes))}, {{"keepdims", keep}});
    };
    sum(leading, 0);
    sum(inner, 1);
    cast(type.dtype);
    return id;
  }

  Status Step(const ExpansionStatement& statement) {
    if (++steps_ <= budget_) return OkStatus();
    return ErrorInText(statement.at, StrCat("the expansion of ", Quote(builder_.query().type), " takes more than ",
                                            budget_, " steps (statements run, turns of loops)"));
  }

  // Numbers of lists, in all and in one.
  Status Numbers(const Expression& node, const NumberList& list) {
    numbers_ += static_cast<int64_t>(list.size());
    if (static_cast<int64_t>(list.size()) > kMaxLiteralElements) {
      return ErrorInText(node.at, StrCat("the list is too long: more than ", kMaxLiteralElements, " numbers"));
    }
    if (numbers_ <= kMaxNumbers) return OkStatus();
    return ErrorInText(node.at, StrCat("the lists of the expansion of ", Quote(builder_.query().type),
                                       " have more than ", kMaxNumbers, " numbers in all"));
  }

  Status Loop(const ExpansionStatement& statement) {
    SBP_ASSIGN_OR_RETURN(const int64_t first, EvaluateInt(statement.value, scope_));
    SBP_ASSIGN_OR_RETURN(const int64_t limit, EvaluateInt(*statement.limit, scope_));
    for (int64_t i = first; i < limit; ++i) {
      SBP_RETURN_IF_ERROR(Step(statement));
      scope_.Set(statement.targets[0].name, ExpressionValue(i));
      SBP_RETURN_IF_ERROR(Body(statement.body));
    }
    return OkStatus();
  }

  Status Assign(const ExpansionStatement& statement) {
    std::vector<std::string> names;
    for (const ExpansionStatement::Target& target : statement.targets) {
      names.push_back(target.name);
      if (!target.index) continue;
      SBP_ASSIGN_OR_RETURN(const int64_t index, EvaluateInt(*target.index, scope_));
      names.back() = ExpansionScope::Indexed(target.name, index);
    }
    const bool is_cotangent = names[0].starts_with(kCotangent);
    if (is_cotangent && statement.because) {
      none_[names[0]] = *statement.because;
      return OkStatus();
    }
    if (is_cotangent && statement.value.kind == Expression::Kind::kName && statement.value.text == "zero") {
      scope_.Set(names[0], std::monostate());
      return OkStatus();
    }
    std::vector<ExpansionValue> values;
    if (statement.value.kind == Expression::Kind::kOpCall) {
      std::vector<bool> wanted;
      for (const std::string& name : names) wanted.push_back(name != "_");
      SBP_ASSIGN_OR_RETURN(const std::vector<TensorId> ids, CallOp(statement.value, wanted, names[0]));
      values.assign(ids.begin(), ids.end());
    } else {
      SBP_ASSIGN_OR_RETURN(ExpansionValue value, Term(statement.value));
      values.push_back(std::move(value));
    }
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] != "_") scope_.Set(names[i], std::move(values[i]));
    }
    return OkStatus();
  }

  Result<ExpansionValue> Term(const Expression& node) {
    switch (node.kind) {
      case Expression::Kind::kName:
      case Expression::Kind::kIndex:
        return scope_.Find(node);
      case Expression::Kind::kAbsent:
        return ExpansionValue();
      case Expression::Kind::kList: {
        SBP_ASSIGN_OR_RETURN(NumberList list, List(node));
        SBP_RETURN_IF_ERROR(Numbers(node, list));
        return ExpansionValue(std::move(list));
      }
      case Expression::Kind::kOpCall: {
        SBP_ASSIGN_OR_RETURN(const std::vector<TensorId> ids, CallOp(node, {true}, ""));
        return ExpansionValue(ids[0]);
      }
      case Expression::Kind::kCall:
        if (node.text == "dims" || node.text == "values") {
          SBP_ASSIGN_OR_RETURN(NumberList list, scope_.ListFunction(node));
          return ExpansionValue(std::move(list));
        }
        if (node.text == "if") {
          SBP_ASSIGN_OR_RETURN(const bool holds, Holds(node.arguments[0]));
          return Term(node.arguments[holds ? 1 : 2]);
        }
        break;
      case Expression::Kind::kUnary:
      case Expression::Kind::kBinary:
        if (scope_.IsTensor(node)) return Operator(node);
        break;
      default:
        break;
    }
    SBP_ASSIGN_OR_RETURN(ExpressionValue value, Evaluate(node, scope_));
    return ExpansionValue(std::move(value));
  }

  // "x + 1" and the like, where a side is a tensor.
  Result<ExpansionValue> Operator(const Expression& node) {
    std::vector<ExpansionValue> operands;
    for (const Expression& argument : node.arguments) {
      SBP_ASSIGN_OR_RETURN(ExpansionValue value, Term(argument));
      if (std::holds_alternative<std::monostate>(value)) {
        return ErrorInText(argument.at, StrCat("an absent operand of ", Quote(node.text)));
      }
      operands.push_back(std::move(value));
    }
    std::string_view op = node.text == "!" ? "Not" : "Neg";
    bool negated = false;
    for (const OperatorRow& row : kOperators) {
      if (operands.size() == 2 && row.text == node.text) std::tie(op, negated) = std::pair(row.op, row.negated);
    }
    SBP_ASSIGN_OR_RETURN(std::vector<TensorId> inputs, OperandsOf(operands, builder_));
    std::vector<TensorId> ids = builder_.CallMany(op, std::move(inputs), {}, {true});
    if (negated) ids = builder_.CallMany("Not", ids, {}, {true});
    SBP_RETURN_IF_ERROR(Located(node));
    return ExpansionValue(ids[0]);
  }

  Status Located(const Expression& node) const {
    return builder_.status().ok() ? OkStatus() : builder_.status().WithContext(ToString(node.at));
  }

  Result<std::vector<TensorId>> CallOp(const Expression& node, const std::vector<bool>& wanted, std::string_view name) {
    const size_t positional = node.arguments.size() - node.keywords.size();
    std::vector<ExpansionValue> operands;
    Attributes attributes;
    for (size_t i = 0; i < node.arguments.size(); ++i) {
      const Expression& argument = node.arguments[i];
      if (argument.kind == Expression::Kind::kAll) {
        TakeAttributes(node, attributes);
        continue;
      }
      SBP_ASSIGN_OR_RETURN(ExpansionValue value, Term(argument));
      if (i < positional) {
        operands.push_back(std::move(value));
      } else {
        SBP_RETURN_IF_ERROR(SetAttribute(argument, node.keywords[i - positional], value, attributes));
      }
    }
    SBP_ASSIGN_OR_RETURN(std::vector<TensorId> inputs, OperandsOf(operands, builder_));
    std::vector<TensorId> ids = builder_.CallMany(node.text, std::move(inputs), std::move(attributes), wanted, name);
    SBP_RETURN_IF_ERROR(Located(node));
    return ids;
  }

  // "*": the outer op's attributes that the inner op has too and that the call does not give.
  void TakeAttributes(const Expression& node, Attributes& attributes) const {
    const OpDefinition* inner = builder_.rules().Find(node.text);
    if (inner == nullptr) return;  // the call says so
    for (const Parameter& p : inner->overloads.front().parameters) {
      const bool is_given = std::find(node.keywords.begin(), node.keywords.end(), p.name) != node.keywords.end();
      const AttributeValue* value = p.keyword && !is_given ? builder_.Attribute(p.name) : nullptr;
      if (value != nullptr) attributes.Set(p.name, *value);
    }
  }

  // Entries, ranges, and lists spliced in.
  Result<NumberList> List(const Expression& node) {
    NumberList list;
    for (const Expression& item : node.arguments) {
      if (item.kind == Expression::Kind::kRange) {
        SBP_ASSIGN_OR_RETURN(const int64_t first, EvaluateInt(item.arguments[0], scope_));
        SBP_ASSIGN_OR_RETURN(const int64_t limit, EvaluateInt(item.arguments[1], scope_));
        if (limit > first && static_cast<uint64_t>(limit) - static_cast<uint64_t>(first) > kMaxLiteralElements) {
          return ErrorInText(item.at, "the list is too long");
        }
        for (int64_t i = first; i < limit; ++i) list.emplace_back(i);
        continue;
      }
      SBP_ASSIGN_OR_RETURN(const ExpansionValue value, Term(item));
      if (const auto* scalar = std::get_if<ExpressionValue>(&value)) {
        list.push_back(*scalar);
      } else if (const auto* inner = std::get_if<NumberList>(&value)) {
        list.insert(list.end(), inner->begin(), inner->end());
        if (static_cast<int64_t>(list.size()) > kMaxLiteralElements) break;
      } else if (const auto* id = std::get_if<TensorId>(&value); id != nullptr && id->valid()) {
        SBP_ASSIGN_OR_RETURN(const ExpressionValue known, scope_.Name(item));
        list.push_back(known);
      } else if (!std::holds_alternative<std::monostate>(value)) {
        return ErrorInText(item.at, "a number is needed here");
      }
    }
    return list;
  }

  ExpansionBuilder& builder_;
  ExpansionScope scope_;
  const int64_t budget_;
  int64_t steps_ = 0, numbers_ = 0;
  std::map<std::string, std::string> none_;  // cotangents that a vjp refuses -> why
};

// What the expansions ask for, as the rule writes it.
std::string ConditionsOf(const OpOverload& overload) {
  constexpr std::string_view kWhen = "expand when ";
  std::vector<std::string> conditions;
  for (size_t at = overload.text.find(kWhen); at != std::string::npos; at = overload.text.find(kWhen, at)) {
    at += kWhen.size();
    conditions.push_back(overload.text.substr(at, overload.text.find('\n', at) - at));
  }
  return Join(conditions, ", or ");
}

}  // namespace

Status EvaluateExpansion(const OpOverload& overload, ExpansionBuilder& builder) {
  Evaluator evaluator(builder);
  for (const Expansion& expansion : overload.expansions) {
    if (expansion.when) {
      SBP_ASSIGN_OR_RETURN(const bool holds, evaluator.Holds(*expansion.when));
      if (!holds) continue;
    }
    SBP_RETURN_IF_ERROR(evaluator.Body(expansion.body));
    return evaluator.SetResults();
  }
  return BadInput(StrCat("no expansion of ", overload.op, " applies to these arguments; there is one for ",
                         ConditionsOf(overload)));
}

Result<const Expansion*> ApplicableVjp(const OpOverload& overload, const ExpansionBuilder& builder) {
  const ExpansionScope scope(builder);
  for (const Expansion& vjp : overload.vjps) {
    if (!vjp.when) return &vjp;
    SBP_ASSIGN_OR_RETURN(const ExpressionValue value, Evaluate(*vjp.when, scope));
    if (IsTrue(value)) return &vjp;
  }
  return nullptr;
}

Result<std::vector<TensorId>> EvaluateVjp(const Expansion& vjp, const std::vector<bool>& reached,
                                          const std::vector<bool>& wanted, ExpansionBuilder& builder) {
  Evaluator evaluator(builder);
  evaluator.BindResults(reached);
  SBP_RETURN_IF_ERROR(evaluator.Body(vjp.body));
  std::vector<TensorId> cotangents(wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    SBP_ASSIGN_OR_RETURN(cotangents[i], evaluator.CotangentOf(vjp, i));
  }
  SBP_RETURN_IF_ERROR(builder.status());
  return cotangents;
}

}  // namespace sbp
