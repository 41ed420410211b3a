#include "rule/rule_set.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/dtype.h"
#include "base/text.h"
#include "graph/literal.h"
#include "rule/builtin_rules.h"
#include "rule/expression.h"
#include "rule/factorizer.h"

namespace sbp {
namespace {

constexpr uint64_t kAllValues = uint64_t{1} << 63;

// The bit of an operand position; positions beyond the set count as all.
uint64_t PositionBit(size_t position) { return position < 63 ? uint64_t{1} << position : kAllValues; }

// The operand's place among the op's operands; `all` of a variadic one.
uint64_t BitOfOperand(const OpOverload& overload, std::string_view name) {
  size_t position = 0;
  for (const Parameter& p : overload.parameters) {
    if (p.keyword) continue;
    if (p.name == name) return p.variadic ? kAllValues : PositionBit(position);
    ++position;
  }
  return 0;
}

// Which operands' values an expression reads: value(x), or the name of a Scalar parameter.
void CollectReads(const Expression& node, const OpOverload& overload, uint64_t& reads) {
  const bool calls_value = node.kind == Expression::Kind::kCall && node.text == "value";
  if (calls_value) reads |= BitOfOperand(overload, node.arguments[0].text);
  if (node.kind == Expression::Kind::kName) {
    reads |= BitOfOperand(overload, node.text);
    return;
  }
  // The first argument of size(f), rank(x), ... is a name, not a value.
  const FunctionRow* function = node.kind == Expression::Kind::kCall ? FindFunction(node.text) : nullptr;
  for (size_t i = function != nullptr && function->first != ArgumentKind::kExpression ? 1 : 0;
       i < node.arguments.size(); ++i)
    CollectReads(node.arguments[i], overload, reads);
}

// What the factorizer of a line reads, and its arguments; a lone name is an operand or a word, not its value.
void CollectFactorizerReads(const RuleLine& line, const OpOverload& overload, bool for_form, uint64_t& reads) {
  const FactorizerRow* row = FindFactorizer(line.factorizer);
  if (row == nullptr) return;
  if (!for_form || !row->for_layouts) {
    for (std::string_view name : Split(row->values, ' ')) reads |= BitOfOperand(overload, name);
  }
  for (const Expression& argument : line.arguments) {
    if (argument.kind != Expression::Kind::kName) CollectReads(argument, overload, reads);
  }
}

// Of an expansion: value(x), values(x), known(x). Other names stand for tensors there.
void CollectTermReads(const Expression& node, const OpOverload& overload, uint64_t& reads) {
  const bool is_read =
      node.kind == Expression::Kind::kCall && (node.text == "value" || node.text == "values" || node.text == "known");
  if (is_read) {
    Expression value{.kind = Expression::Kind::kCall, .text = "value", .arguments = {node.arguments[0]}};
    CollectReads(value, overload, reads);
  }
  for (const Expression& argument : node.arguments) CollectTermReads(argument, overload, reads);
}

void CollectBodyReads(const std::vector<ExpansionStatement>& body, const OpOverload& overload, uint64_t& reads) {
  for (const ExpansionStatement& statement : body) {
    CollectTermReads(statement.value, overload, reads);
    if (statement.limit) CollectTermReads(*statement.limit, overload, reads);
    if (statement.when) CollectTermReads(*statement.when, overload, reads);
    CollectBodyReads(statement.body, overload, reads);
  }
}

uint64_t ReadsOfExpansions(const OpOverload& overload, const std::vector<Expansion>& expansions) {
  uint64_t reads = 0;
  for (const Expansion& expansion : expansions) {
    if (expansion.when) CollectTermReads(*expansion.when, overload, reads);
    CollectBodyReads(expansion.body, overload, reads);
  }
  return reads;
}

uint64_t ReadsForForm(const OpOverload& overload) {
  uint64_t reads = ReadsOfExpansions(overload, overload.expansions);
  for (const RuleLine& line : overload.rules) CollectFactorizerReads(line, overload, true, reads);
  return reads;
}

uint64_t ReadsOf(const OpOverload& overload) {
  uint64_t reads = 0;
  if (overload.flops) CollectReads(*overload.flops, overload, reads);
  if (overload.attention) CollectReads(overload.attention->head, overload, reads);
  for (const RuleLine& line : overload.rules) {
    CollectFactorizerReads(line, overload, false, reads);
    for (const RuleClause& clause : line.clauses) {
      for (const Expression& e : clause.expressions) CollectReads(e, overload, reads);
    }
  }
  return reads | ReadsOfExpansions(overload, overload.expansions);
}

Status CheckArguments(const RuleLine& line, const OpOverload& overload, const FactorizerRow& row) {
  if (line.arguments.size() < row.arguments) {
    return BadInput(StrCat(ToString(line.at), ": @", row.name, " takes ", row.arguments, " argument",
                           row.arguments == 1 ? "" : "s", ", not ", line.arguments.size(), ": ", row.doc));
  }
  for (size_t i = 0; i < row.operand_arguments; ++i) {
    const Expression& argument = line.arguments[i];
    const bool may_be_absent = i >= 2;  // weights, zero points, shifts
    std::vector<std::string> operands;
    for (const Parameter& p : overload.parameters) {
      if (!p.keyword && !p.variadic && (may_be_absent || !p.optional)) operands.push_back(p.name);
    }
    const bool is_name = argument.kind == Expression::Kind::kName;
    if (is_name && std::ranges::find(operands, argument.text) != operands.end()) continue;
    return BadInput(StrCat(ToString(argument.at), ": argument ", i + 1, " of @", row.name, " is the name of an operand",
                           may_be_absent ? "" : " that is not optional", DidYouMean(argument.text, operands)));
  }
  return OkStatus();
}

// A factorizer looks operands up by name: the schema must have them.
Status CheckOperands(const RuleLine& line, const OpOverload& overload, const FactorizerRow& row) {
  const auto is_operand = [](const Parameter& p) { return !p.keyword && !p.optional; };
  if (row.operands == "*" && std::ranges::none_of(overload.parameters, is_operand)) {
    return BadInput(StrCat(ToString(line.at), ": @", row.name, " needs an operand; op ", overload.op, " has none"));
  }
  for (const std::string_view written : Split(row.operands, ' ')) {
    if (written == "*") continue;
    const bool variadic = written.ends_with("[]");
    const std::string_view name = written.substr(0, written.size() - (variadic ? 2 : 0));
    const auto fits = [&](const Parameter& p) {
      return p.name == name && !p.keyword && !p.optional && p.variadic == variadic;
    };
    if (name.empty() || std::ranges::any_of(overload.parameters, fits)) continue;
    return BadInput(StrCat(ToString(line.at), ": @", row.name, " needs an operand \"Tensor", variadic ? "[] " : " ",
                           name, "\", which op ", overload.op,
                           " lacks; another op's rule is taken by \"rule as Op(...)\""));
  }
  return OkStatus();
}

Status CheckFactorizers(const OpOverload& overload) {
  for (const RuleLine& line : overload.rules) {
    if (line.factorizer.empty()) continue;
    if (const FactorizerRow* row = FindFactorizer(line.factorizer)) {
      SBP_RETURN_IF_ERROR(CheckArguments(line, overload, *row));
      SBP_RETURN_IF_ERROR(CheckOperands(line, overload, *row));
      continue;
    }
    std::vector<std::string> known;
    for (const FactorizerRow& row : AllFactorizers()) known.emplace_back(row.name);
    return BadInput(
        StrCat(ToString(line.at), ": unknown factorizer @", line.factorizer, DidYouMean(line.factorizer, known)));
  }
  return OkStatus();
}

// Of `rule as Op(...)`: may the call have so many operands, and these attributes?
Status CheckCall(const Expression& call, const OpDefinition& inner) {
  const size_t operands =
      std::ranges::count_if(call.arguments,
                            [](const Expression& argument) { return argument.kind != Expression::Kind::kAll; }) -
      call.keywords.size();
  const OpOverload& overload = inner.overloads.front();
  size_t taken = 0;
  std::vector<std::string> attributes;
  for (const Parameter& p : overload.parameters) {
    if (p.keyword) attributes.push_back(p.name);
    taken += p.variadic ? operands : p.keyword ? 0 : 1;
  }
  if (operands > taken) {
    return BadInput(StrCat(ToString(call.at), ": ", call.text, " takes ", taken, " operands, not ", operands));
  }
  for (const std::string& name : call.keywords) {
    if (std::ranges::find(attributes, name) != attributes.end()) continue;
    return BadInput(
        StrCat(ToString(call.at), ": ", call.text, " has no attribute ", Quote(name), DidYouMean(name, attributes)));
  }
  return OkStatus();
}

// Which of the op's operands the inner op reads the values of, where a line takes its rule.
void CollectInheritedReads(const Expression& call, const OpOverload& overload, uint64_t inner, uint64_t& reads) {
  size_t place = 0;
  for (const Expression& argument : call.arguments) {
    if (argument.kind == Expression::Kind::kAll) continue;
    if ((inner & (kAllValues | PositionBit(place))) != 0) reads |= BitOfOperand(overload, argument.text);
    ++place;
  }
}

std::string FamilyOf(std::string_view file) {
  if (size_t slash = file.rfind('/'); slash != std::string_view::npos) file.remove_prefix(slash + 1);
  if (file.ends_with(".rules")) file.remove_suffix(6);
  return std::string(file);
}

std::vector<std::string> NamesOf(const RuleSet::Ops& ops) {
  std::vector<std::string> names;
  names.reserve(ops.size());
  for (const auto& [name, definition] : ops) names.push_back(name);
  return names;
}

Status AddFile(std::string_view text, std::string_view file, bool builtin, RuleSet::Ops& ops) {
  SBP_ASSIGN_OR_RETURN(std::vector<OpOverload> overloads, ParseRules(text, file));
  std::map<std::string, OpDefinition, std::less<>> added;
  std::map<std::string, bool, std::less<>> overridden;
  for (OpOverload& overload : overloads) {
    SBP_RETURN_IF_ERROR(CheckFactorizers(overload));
    overridden[overload.op] |= overload.overrides;
    OpDefinition& definition = added[overload.op];
    definition.name = overload.op;
    definition.family = FamilyOf(file);
    definition.builtin = builtin;
    definition.reads_values |= ReadsOf(overload);
    definition.reads_for_form |= ReadsForForm(overload);
    definition.reads_for_vjp |= ReadsOfExpansions(overload, overload.vjps);
    definition.overloads.push_back(std::move(overload));
  }
  for (const auto& [name, overrides] : overridden) {
    const auto found = ops.find(name);
    const OpDefinition* known = found == ops.end() ? nullptr : &found->second;
    const SourcePosition& at = added[name].overloads.front().at;
    if (known != nullptr && !overrides) {
      return BadInput(StrCat(ToString(at), ": op ", name, " is already known (", ToString(known->overloads.front().at),
                             "); write \"override op\" to replace it"));
    }
    if (known == nullptr && overrides) {
      return BadInput(StrCat(ToString(at), ": no op ", name, " to override", DidYouMean(name, NamesOf(ops))));
    }
  }
  for (auto& [name, definition] : added) ops[name] = std::move(definition);
  return OkStatus();
}

Status Inherit(OpDefinition& definition, RuleSet::Ops& ops, std::map<std::string, bool, std::less<>>& done) {
  if (!done.emplace(definition.name, false).second) return OkStatus();
  for (const OpOverload& overload : definition.overloads) {
    for (const RuleLine& line : overload.rules) {
      if (!line.inherited) continue;
      const Expression& call = *line.inherited;
      const auto inner = ops.find(call.text);
      if (inner == ops.end()) {
        return BadInput(
            StrCat(ToString(call.at), ": unknown op ", Quote(call.text), DidYouMean(call.text, NamesOf(ops))));
      }
      if (const auto known = done.find(call.text); known != done.end() && !known->second) {
        return BadInput(StrCat(ToString(call.at), ": op ", definition.name, " takes the rule of ", call.text,
                               ", which takes that of ", definition.name,
                               call.text == definition.name ? "" : " in turn"));
      }
      SBP_RETURN_IF_ERROR(CheckCall(call, inner->second));
      SBP_RETURN_IF_ERROR(Inherit(inner->second, ops, done));
      CollectInheritedReads(call, overload, inner->second.reads_values, definition.reads_values);
      CollectInheritedReads(call, overload, inner->second.reads_for_form, definition.reads_for_form);
    }
  }
  done[definition.name] = true;
  return OkStatus();
}

// Of `rule as Op(...)`: the op exists and takes the call, no op takes its own rule, and values that it reads are read.
Status Inherit(RuleSet::Ops& ops) {
  std::map<std::string, bool, std::less<>> done;  // false: begun, and not yet done
  for (auto& [name, definition] : ops) SBP_RETURN_IF_ERROR(Inherit(definition, ops, done));
  return OkStatus();
}

}  // namespace

const Literal* OperandInfo::known() const {
  static const Literal kI32 = Literal::Ints({}, DType::kI32), kI64 = Literal::Ints({});
  if (value != nullptr || !present) return value;
  return type == kI64.type ? &kI64 : type == kI32.type ? &kI32 : nullptr;
}

Result<RuleSet> RuleSet::Builtin() {
  // Parsed once in a process that asks often. Never freed: calls may still run when the process ends.
  static const auto* const parsed = new const Result<RuleSet>([]() -> Result<RuleSet> {
    Ops ops;
    for (const BuiltinRuleFile& file : BuiltinRuleFiles()) {
      Status status = AddFile(file.text, StrCat("rules/", file.name), true, ops);
      if (!status.ok()) return Defect(status.message());
    }
    const Status status = Inherit(ops);
    if (!status.ok()) return Defect(status.message());
    RuleSet rules;
    rules.ops_ = std::make_shared<const Ops>(std::move(ops));
    return rules;
  }());
  return *parsed;
}

Status RuleSet::Add(std::string_view text, std::string_view file) {
  Ops next = *ops_;  // so that a file with an error adds nothing
  SBP_RETURN_IF_ERROR(AddFile(text, file, false, next));
  SBP_RETURN_IF_ERROR(Inherit(next));
  ops_ = std::make_shared<const Ops>(std::move(next));
  user_files_.emplace_back(file, text);
  return OkStatus();
}

const OpDefinition* RuleSet::Find(std::string_view type) const {
  auto it = ops_->find(type);
  return it == ops_->end() ? nullptr : &it->second;
}

std::vector<std::string> RuleSet::Names() const { return NamesOf(*ops_); }

bool RuleSet::ReadsValue(std::string_view type, size_t index) const {
  const OpDefinition* definition = Find(type);
  return definition != nullptr && (definition->reads_values & (kAllValues | PositionBit(index))) != 0;
}

bool RuleSet::ValueDecidesForm(std::string_view type, size_t index) const {
  const OpDefinition* definition = Find(type);
  return definition != nullptr && (definition->reads_for_form & (kAllValues | PositionBit(index))) != 0;
}

}  // namespace sbp
